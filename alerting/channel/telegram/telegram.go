package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
	"github.com/otkit/otkit/fault"
)

// maxText keeps within Telegram's limit of 4096 UTF-16 units for any characters.
const maxText = 2000

// Options of a [Channel].
type Options struct {
	Token   string   // of the bot; never logged, although it is part of the URL
	Chats   []string // ids of chats, or names of channels such as @plant
	BaseURL string   // default https://api.telegram.org
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
	base, err := post.BaseURL(cmp.Or(o.BaseURL, "https://api.telegram.org"))
	switch {
	case err != nil:
		return nil, fault.Option("telegram", "Options.BaseURL", "%v", err)
	case o.Token == "":
		return nil, fault.Option("telegram", "Options.Token", "is required")
	case len(o.Chats) == 0:
		return nil, fault.Option("telegram", "Options.Chats", "is required")
	}
	c := &Channel{o: o, url: base + "/bot" + o.Token + "/sendMessage", post: post.New(o.Client, o.Token)}
	c.to.Add(o.Chats...)
	return c, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelTelegram }

// Recipients implements alerting.RecipientLister.
func (c *Channel) Recipients() []string { return c.to.Recipients() }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	text := post.Cut(n.Title+"\n\n"+n.Body, maxText)
	chat, err := c.to.Find(n)
	if err != nil {
		return err
	}
	a, err := c.post.JSON(ctx, c.url, nil, map[string]any{
		"chat_id": chat, "text": text, "link_preview_options": map[string]bool{"is_disabled": true},
	})
	if a.Status == 0 {
		return err
	}
	return c.read(a, err)
}

// read returns an error with Telegram's description, which every status has.
func (c *Channel) read(a post.Answer, err error) error {
	var body struct {
		OK          bool   `json:"ok"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(a.Body, &body) != nil {
		if err == nil {
			return alerting.Ambiguous(errors.New("peer answered something that is not of Telegram"))
		}
		return err
	}
	if err == nil {
		if body.OK {
			return nil
		}
		return alerting.Permanent(errors.New(c.post.Redact("peer refused the message: " + post.Cut(body.Description, 200))))
	}
	err = c.post.Check(a, body.Description)
	var e *alerting.SendError
	if body.Parameters.RetryAfter > 0 && errors.As(err, &e) && e.Outcome == alerting.OutcomeRetryable {
		wait := time.Duration(min(body.Parameters.RetryAfter, 86400)) * time.Second
		return &alerting.SendError{Outcome: e.Outcome, RetryAfter: max(e.RetryAfter, wait), RecipientOnly: true, Err: e.Err} // a limit of the chat
	}
	return err
}
