package sms

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"net/url"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
	"github.com/otkit/otkit/fault"
)

// maxText limits a message to three parts, even if it needs UCS-2.
const maxText = 200

// Options of a [Channel].
type Options struct {
	AccountSID string
	AuthToken  string // never logged
	// From is a number in E.164 form, such as +4915112345678, or a messaging service (MG...).
	From    string
	To      []string // numbers in E.164 form
	BaseURL string   // default https://api.twilio.com
	Client  *http.Client
}

// Channel sends text messages: the title of an alarm, cut to 200 characters, and the link of a digest. Safe for concurrent use.
type Channel struct {
	o    Options
	url  string
	post *post.Client
	to   recipients.List
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	base, err := post.BaseURL(cmp.Or(o.BaseURL, "https://api.twilio.com"))
	switch {
	case err != nil:
		return nil, fault.Option("sms", "Options.BaseURL", "%v", err)
	case o.AccountSID == "":
		return nil, fault.Option("sms", "Options.AccountSID", "is required")
	case o.AuthToken == "":
		return nil, fault.Option("sms", "Options.AuthToken", "is required")
	case o.From == "":
		return nil, fault.Option("sms", "Options.From", "is required")
	case len(o.To) == 0:
		return nil, fault.Option("sms", "Options.To", "is required")
	}
	c := &Channel{
		o: o, url: base + "/2010-04-01/Accounts/" + url.PathEscape(o.AccountSID) + "/Messages.json",
		post: post.New(o.Client, o.AuthToken, basic(o)),
	}
	c.to.Add(o.To...)
	return c, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelSMS }

// Recipients implements alerting.RecipientLister.
func (c *Channel) Recipients() []string { return c.to.Recipients() }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	to, err := c.to.Find(n)
	if err != nil {
		return err
	}
	headers := map[string]string{"Authorization": "Basic " + basic(c.o)}
	text := post.Cut(n.Title, maxText)
	if n.Link != "" { // a digest, whose alarms the title does not name
		text += "\n" + n.Link
	}
	form := url.Values{"To": {to}, "Body": {text}}
	if len(c.o.From) > 2 && c.o.From[:2] == "MG" {
		form.Set("MessagingServiceSid", c.o.From)
	} else {
		form.Set("From", c.o.From)
	}
	_, err = c.post.Form(ctx, c.url, headers, form)
	return err
}

func basic(o Options) string {
	return base64.StdEncoding.EncodeToString([]byte(o.AccountSID + ":" + o.AuthToken))
}
