package teamchat

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/fault"
)

// Format is the form of the messages.
type Format string

// The formats.
const (
	Slack      Format = "slack"
	Mattermost Format = "mattermost"
	Teams      Format = "teams"
)

// Options of a [Channel].
type Options struct {
	URL    string // of the incoming webhook; it is a secret and never logged
	Format Format // default Slack
	Client *http.Client
}

// Channel posts to a room. Safe for concurrent use.
type Channel struct {
	o    Options
	post *post.Client
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	var err error
	if o.URL, err = post.HookURL(o.URL); err != nil {
		return nil, fault.Option("teamchat", "Options.URL", "%v", err)
	}
	switch o.Format {
	case "":
		o.Format = Slack
	case Slack, Mattermost, Teams:
	default:
		return nil, fault.Option("teamchat", "Options.Format", "must be slack, mattermost or teams")
	}
	return &Channel{o: o, post: post.New(o.Client, post.HookSecrets(o.URL)...)}, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelTeamChat }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	var body any
	switch c.o.Format {
	case Mattermost:
		body = mattermost(n)
	case Teams:
		body = teams(n)
	default:
		body = slack(n)
	}
	a, err := c.post.JSON(ctx, c.o.URL, nil, body)
	if err == nil && c.o.Format == Teams && strings.Contains(string(a.Body), "delivery failed with error") {
		// Connectors of Teams report it with status 200.
		return alerting.Retryable(errors.New("peer answered that it could not deliver the message"), 0)
	}
	return err
}

type object = map[string]any

// The longest texts that the chats show.
const (
	maxTitle = 250
	maxBody  = 3000
)

func color(n alerting.Notification) string {
	switch {
	case n.Resolved:
		return "#2e7d32"
	case n.Severity >= alarms.Error:
		return "#c62828"
	case n.Severity == alarms.Warning:
		return "#f9a825"
	}
	return "#1565c0"
}

// slackEscape escapes as Slack requires, which also keeps <!channel> from notifying everybody.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slack(n alerting.Notification) object {
	title, body := slackEscape.Replace(post.Cut(n.Title, maxTitle)), slackEscape.Replace(post.Cut(n.Body, maxBody))
	return object{"text": title, "attachments": []object{{"color": color(n), "text": body, "fallback": title}}}
}

// quiet keeps @all and the like in an alarm's text from notifying everybody.
var quiet = strings.NewReplacer("@", "@\u200b")

// literal keeps Mattermost from reading an alarm's text as Markdown: a link may lead anywhere, and an image
// is fetched from there.
var literal = strings.NewReplacer("@", "@\u200b", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`,
	"(", `\(`, ")", `\)`, "!", `\!`, "#", `\#`, "|", `\|`)

func mattermost(n alerting.Notification) object {
	title, body := post.Cut(n.Title, maxTitle), post.Cut(n.Body, maxBody)
	return object{"text": literal.Replace(title), "attachments": []object{{
		"color": color(n), "text": literal.Replace(body), "fallback": quiet.Replace(title),
	}}}
}

// A card's TextBlock is read as Markdown, which not all clients can escape; a TextRun is not.
func teams(n alerting.Notification) object {
	shade := "Default"
	switch {
	case n.Resolved:
		shade = "Good"
	case n.Severity >= alarms.Error:
		shade = "Attention"
	case n.Severity == alarms.Warning:
		shade = "Warning"
	}
	blocks := []object{textRun(post.Cut(n.Title, maxTitle), object{"weight": "Bolder", "size": "Medium", "color": shade})}
	for line := range strings.Lines(post.Cut(n.Body, maxBody)) {
		if line = strings.TrimSpace(line); line != "" {
			blocks = append(blocks, textRun(line, nil))
		}
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content": object{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks,
		},
	}}}
}

// textRun returns a block of text in one style.
func textRun(text string, look object) object {
	run := object{"type": "TextRun", "text": text}
	maps.Copy(run, look)
	return object{"type": "RichTextBlock", "inlines": []object{run}}
}
