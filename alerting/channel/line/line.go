package line

import (
	"cmp"
	"context"
	"net/http"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
	"github.com/otkit/otkit/fault"
)

// maxText keeps within LINE's limit of 5000 UTF-16 units for any characters.
const maxText = 2500

// maxTo bounds the messages of one alarm.
const maxTo = 500

// Options of a [Channel].
type Options struct {
	Token   string   // channel access token; never logged
	To      []string // ids of users; at most 500
	BaseURL string   // default https://api.line.me
	Client  *http.Client
}

// Channel sends messages. Safe for concurrent use.
type Channel struct {
	o    Options
	url  string
	post *post.Client
	to   recipients.List
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	base, err := post.BaseURL(cmp.Or(o.BaseURL, "https://api.line.me"))
	switch {
	case err != nil:
		return nil, fault.Option("line", "Options.BaseURL", "%v", err)
	case o.Token == "":
		return nil, fault.Option("line", "Options.Token", "is required")
	case len(o.To) == 0 || len(o.To) > maxTo:
		return nil, fault.Option("line", "Options.To", "must have 1 to %d ids", maxTo)
	}
	c := &Channel{o: o, url: base + "/v2/bot/message/push", post: post.New(o.Client, o.Token)}
	c.to.Add(o.To...)
	return c, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelLine }

// AcceptsKey implements alerting.Idempotent: LINE accepts a message with a retry key once within a day.
func (c *Channel) AcceptsKey() bool { return true }

// Recipients implements alerting.RecipientLister.
func (c *Channel) Recipients() []string { return c.to.Recipients() }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	to, err := c.to.Find(n)
	if err != nil {
		return err
	}
	text := map[string]string{"type": "text", "text": post.Cut(n.Title+"\n\n"+n.Body, maxText)}
	a, err := c.post.JSON(ctx, c.url, map[string]string{
		"Authorization": "Bearer " + c.o.Token, "X-Line-Retry-Key": n.ID,
	}, map[string]any{"to": to, "messages": []any{text}})
	if a.Status == http.StatusConflict {
		return nil // accepted before
	}
	return err
}
