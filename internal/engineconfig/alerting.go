package engineconfig

import (
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
)

// Alerting configures alarm notifications. A channel is configured by its first setting; without it, there is no such channel.
type Alerting struct {
	HistoryMaxAge  time.Duration `key:"historyMaxAge" default:"9600h" rule:"720h.." doc:"Retention of records of completed alerts."`
	LateWindow     time.Duration `key:"lateWindow" default:"1m" rule:"1s..1h" doc:"How long after the end of an alert a firing one of another sender counts as late and is ignored."`
	MaxActive      int           `key:"maxActive" default:"10000" rule:"1.." doc:"Active alarms of external alerts; further ones are refused, so that the sender tries again, and raise an alarm."`
	MaxSilences    int           `key:"maxSilences" default:"500" rule:"1..10000" doc:"Silences created without a token that are stored, ended ones included."`
	SilenceMaxLife time.Duration `key:"silenceMaxLife" default:"720h" rule:">0..8760h" doc:"How far ahead a silence created without a token may end."`
	WebhookToken   string        `key:"webhookToken" secret:"true" rule:"token" doc:"Bearer token that the alert webhook accepts besides those of accounts, from everywhere."`
	Routes         Routes        `key:"routes"`
	Templates      []Template    `key:"templates" doc:"Texts of messages, a list with one entry for a channel."`
	Floods         []Flood       `key:"floods" doc:"Rate limits per recipient, a list with one entry for a channel."`
	Email          Email         `key:"email"`
	TeamChat       TeamChat      `key:"teamChat"`
	SMS            SMS           `key:"sms"`
	TTS            TTS           `key:"tts"`
	FCM            FCM           `key:"fcm"`
	APNs           APNs          `key:"apns"`
	Telegram       Telegram      `key:"telegram"`
	Line           Line          `key:"line"`
	Webhook        Webhook       `key:"webhook"`
}

// Routes are the channels by severity.
type Routes struct {
	Critical []string `key:"critical" default:"email,teamchat,sms,tts,dashboard,fcm,apns" rule:"email|teamchat|sms|tts|dashboard|fcm|apns|telegram|line|webhook" doc:"Channels that notify of a Critical alarm."`
	Error    []string `key:"error" default:"teamchat,telegram,line,dashboard,fcm,apns" rule:"email|teamchat|sms|tts|dashboard|fcm|apns|telegram|line|webhook" doc:"Channels that notify of an Error."`
	Warning  []string `key:"warning" default:"dashboard" rule:"email|teamchat|sms|tts|dashboard|fcm|apns|telegram|line|webhook" doc:"Channels that notify of a Warning."`
	Info     []string `key:"info" default:"dashboard" rule:"email|teamchat|sms|tts|dashboard|fcm|apns|telegram|line|webhook" doc:"Channels that notify of an Info."`
	None     []string `key:"none" rule:"email|teamchat|sms|tts|dashboard|fcm|apns|telegram|line|webhook" doc:"Channels that notify of no alarm. Any other channel with settings must be in a row."`
}

// Template is the text of the messages of a channel, in the template language of Go.
type Template struct {
	Channel string `key:"channel" unique:"true" doc:"Channel; empty for all the others."`
	Subject string `key:"subject" doc:"Template of the subject; empty for the default one."`
	Body    string `key:"body" doc:"Template of the body; empty for the default one."`
}

// Flood limits the messages to one recipient; an excess becomes one digest.
type Flood struct {
	Channel string        `key:"channel" unique:"true" doc:"Channel; empty for all others except webhook, which has no limit by default. dashboard has no effect: it is not sent through the outbox."`
	Burst   int           `key:"burst" doc:"Messages in a burst; 0 for 30, as without an entry; negative for no limit."`
	Every   time.Duration `key:"every" rule:"0.." doc:"Time in which one more message is sent; 0s for 10s."`
}

// Validate implements settings.Validator.
func (r Routes) Validate(p *settings.Problems) {
	for _, row := range r.rows() {
		for i, name := range row.channels {
			if slices.Contains(row.channels[:i], name) {
				p.Add(fmt.Sprintf("%s[%d]", row.key, i), fmt.Sprintf("must not name %q twice", name))
			}
		}
	}
	for i, name := range r.None {
		if r.routed(name) {
			p.Add(fmt.Sprintf("none[%d]", i), fmt.Sprintf("must not name %q, which is in a row", name))
		}
	}
}

// routed reports whether a row names a channel.
func (r Routes) routed(channel string) bool {
	return slices.ContainsFunc(r.rows(), func(row row) bool { return slices.Contains(row.channels, channel) })
}

type row struct {
	key      string
	severity alarms.Severity
	channels []string
}

func (r Routes) rows() []row {
	return []row{{"critical", alarms.Critical, r.Critical}, {"error", alarms.Error, r.Error}, {"warning", alarms.Warning, r.Warning}, {"info", alarms.Info, r.Info}}
}

// table returns the routes of the dispatcher. An empty row notifies nobody, and is not a missing one.
func (r Routes) table() alerting.Routes {
	table := alerting.Routes{}
	for _, row := range r.rows() {
		table[row.severity] = append([]string{}, row.channels...)
	}
	return table
}

// options validates the whole, so that nothing is left for the start to refuse.
func (a Alerting) options(p *settings.Problems) alertingpart.Options {
	o := alertingpart.Options{WebhookToken: a.WebhookToken, HistoryMaxAge: a.HistoryMaxAge, LateWindow: a.LateWindow, MaxActive: a.MaxActive,
		MaxSilences: a.MaxSilences, SilenceMaxLife: a.SilenceMaxLife, Channels: a.channels(p),
		Templates: make(map[string]alerting.TemplateText, len(a.Templates)), RateLimits: make(map[string]alerting.RateLimit, len(a.Floods))}
	for _, t := range a.Templates {
		o.Templates[t.Channel] = alerting.TemplateText{Subject: t.Subject, Body: t.Body}
	}
	for _, f := range a.Floods {
		o.RateLimits[f.Channel] = alerting.RateLimit{Burst: f.Burst, Interval: f.Every}
	}
	if p.Has("alerting") {
		return o
	}
	o.Routes, o.Unrouted = a.Routes.table(), a.Routes.None
	for _, c := range o.Channels {
		if name := c.Name(); !a.Routes.routed(name) && !slices.Contains(a.Routes.None, name) {
			p.Add("alerting.routes", fmt.Sprintf("must name the channel %q, which has settings; if it is to notify of no alarm, alerting.routes.none must", name))
		}
	}
	if p.Has("alerting") {
		return o
	}
	if err := (dispatch.Options{Routes: o.Routes, Unrouted: o.Unrouted, Templates: o.Templates, RateLimits: o.RateLimits}).Validate(o.Channels...); err != nil {
		p.Add("alerting", "is not usable: "+err.Error())
	}
	return o
}
