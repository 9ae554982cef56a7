package settings

import (
	"fmt"
	"strings"
	"time"
)

// Alarms is about alarms.
type Alarms struct {
	MaxAge        time.Duration `koanf:"maxAge" doc:"How long cleared alarms and their events are kept, from 720h."`
	DriverOffline DriverOffline `koanf:"driverOffline"`
	Analytics     Analytics     `koanf:"analytics"`
}

// DriverOffline is about the alarms of drivers.
type DriverOffline struct {
	Enabled  bool          `koanf:"enabled" doc:"Raise an alarm for each driver that is offline."`
	Delay    time.Duration `koanf:"delay" doc:"How long a driver is offline before that, from 1s."`
	Severity string        `koanf:"severity" doc:"Severity of the alarm: Info, Warning, Error or Critical."`
}

// Analytics says what counts as too much in /api/v1/alarms/analytics.
type Analytics struct {
	Operators      int           `koanf:"operators" doc:"Operators who share the alarms, from 1."`
	RateAcceptable float64       `koanf:"rateAcceptable" doc:"Alarms an operator hour that are acceptable."`
	RateMax        float64       `koanf:"rateMax" doc:"Most alarms an operator hour that can be managed."`
	FloodWindow    time.Duration `koanf:"floodWindow" doc:"Time over which alarms are counted for floods."`
	FloodStart     int           `koanf:"floodStart" doc:"A flood begins with more than so many alarms an operator in the window."`
	FloodEnd       int           `koanf:"floodEnd" doc:"A flood ends with fewer than so many."`
	ChatterCount   int           `koanf:"chatterCount" doc:"A condition chatters when it is raised so often in the chatter window."`
	ChatterWindow  time.Duration `koanf:"chatterWindow" doc:"Time over which that is counted."`
	StaleAfter     time.Duration `koanf:"staleAfter" doc:"An alarm that stands for longer is stale."`
	Top            int           `koanf:"top" doc:"Most frequent conditions that are listed, 1 to 100."`
}

// Alerting says who is told of alarms. A channel is set up by its first setting; without it, it is left
// out.
type Alerting struct {
	HistoryMaxAge time.Duration `koanf:"historyMaxAge" doc:"How long records of completed alerts are kept, from 720h."`
	WebhookToken  string        `koanf:"webhookToken" secret:"true" doc:"Bearer token that the alert webhook takes besides those of accounts, for use with auth.protectOpenSurfaces."`
	Routes        Routes        `koanf:"routes"`
	Templates     []Template    `koanf:"templates" doc:"Texts of messages, a list with one entry for a channel."`
	Floods        []Flood       `koanf:"floods" doc:"How much each recipient is told, a list with one entry for a channel."`
	Email         Email         `koanf:"email"`
	TeamChat      TeamChat      `koanf:"teamChat"`
	SMS           SMS           `koanf:"sms"`
	TTS           TTS           `koanf:"tts"`
	FCM           FCM           `koanf:"fcm"`
	APNs          APNs          `koanf:"apns"`
	Telegram      Telegram      `koanf:"telegram"`
	Line          Line          `koanf:"line"`
	Webhook       Webhook       `koanf:"webhook"`
}

// Routes are the channels by severity.
type Routes struct {
	Critical []string `koanf:"critical" doc:"Channels that are told of a Critical alarm. Of email, teamchat, sms, tts, dashboard, fcm, apns, telegram, line, webhook."`
	Error    []string `koanf:"error" doc:"Channels that are told of an Error."`
	Warning  []string `koanf:"warning" doc:"Channels that are told of a Warning."`
	Info     []string `koanf:"info" doc:"Channels that are told of an Info."`
}

// Template is the text of the messages of a channel, after the template language of Go.
type Template struct {
	Channel string `koanf:"channel" doc:"Channel; empty for all the others."`
	Subject string `koanf:"subject" doc:"Template of the subject; empty for the default one."`
	Body    string `koanf:"body" doc:"Template of the body; empty for the default one."`
}

// Flood limits what one recipient is told; an excess becomes one digest.
type Flood struct {
	Channel string        `koanf:"channel" doc:"Channel; empty for all but dashboard and webhook, which have no limit by default."`
	Burst   int           `koanf:"burst" doc:"Messages at once; 0 for 30, as without an entry; negative for no limit."`
	Every   time.Duration `koanf:"every" doc:"One more message for each of these times; 0s for 10s."`
}

// Email is the channel of that name.
type Email struct {
	Host     string   `koanf:"host" doc:"SMTP server; empty for no e-mail."`
	Port     int      `koanf:"port" doc:"Its port; 0 for that of the security."`
	Security string   `koanf:"security" doc:"starttls (required), tls, or none for a server on this machine."`
	Username string   `koanf:"username" doc:"Account at the server; empty for none."`
	Password string   `koanf:"password" secret:"true" doc:"Its password."`
	From     string   `koanf:"from" doc:"Sender's address."`
	To       []string `koanf:"to" doc:"Recipients' addresses."`
}

// TeamChat is the channel of that name.
type TeamChat struct {
	URL    string `koanf:"url" secret:"true" doc:"Incoming webhook of the chat; empty for none."`
	Format string `koanf:"format" doc:"slack, teams or mattermost."`
}

// SMS is the channel of that name, for Twilio's interface.
type SMS struct {
	AccountSID string   `koanf:"accountSid" doc:"Account at Twilio, or at who has its interface; empty for none."`
	AuthToken  string   `koanf:"authToken" secret:"true" doc:"Its token."`
	From       string   `koanf:"from" doc:"Number in E.164 form, or a messaging service."`
	To         []string `koanf:"to" doc:"Numbers in E.164 form."`
	BaseURL    string   `koanf:"baseUrl" doc:"Another address of the interface."`
}

// TTS is the channel that speaks.
type TTS struct {
	Player  []string `koanf:"player" doc:"Command that plays a WAV file, whose name is added, such as aplay,-q; empty for none."`
	Speaker string   `koanf:"speaker" doc:"Program that makes audio, with the options of espeak-ng; empty for espeak-ng."`
	Voice   string   `koanf:"voice" doc:"Voice, such as de or en-us."`
	Speed   int      `koanf:"speed" doc:"Words a minute, 80 to 450; 0 for that of the speaker."`
}

// FCM is the mobile push by Firebase Cloud Messaging.
type FCM struct {
	CredentialsFile string   `koanf:"credentialsFile" doc:"Key file of a service account, JSON; empty for none."`
	Devices         []string `koanf:"devices" secret:"true" doc:"Registration tokens."`
	Topics          []string `koanf:"topics" doc:"Names of topics."`
	BaseURL         string   `koanf:"baseUrl" doc:"Another address of the service."`
	TokenURL        string   `koanf:"tokenUrl" doc:"Another address for tokens than that of the credentials."`
}

// APNs is the mobile push by Apple.
type APNs struct {
	KeyFile string   `koanf:"keyFile" doc:"Signing key as Apple gives it (.p8); empty for none."`
	KeyID   string   `koanf:"keyId" doc:"Id of the key."`
	TeamID  string   `koanf:"teamId" doc:"Id of the team."`
	Topic   string   `koanf:"topic" doc:"Bundle id of the app."`
	Devices []string `koanf:"devices" secret:"true" doc:"Device tokens."`
	BaseURL string   `koanf:"baseUrl" doc:"Another address of the service."`
}

// Telegram is the messenger of that name.
type Telegram struct {
	Token   string   `koanf:"token" secret:"true" doc:"Token of the bot; empty for none."`
	Chats   []string `koanf:"chats" doc:"Ids of chats, or names of channels such as @plant."`
	BaseURL string   `koanf:"baseUrl" doc:"Another address of the interface."`
}

// Line is the messenger of that name.
type Line struct {
	Token   string   `koanf:"token" secret:"true" doc:"Channel access token; empty for none."`
	To      []string `koanf:"to" doc:"Ids of users."`
	BaseURL string   `koanf:"baseUrl" doc:"Another address of the interface."`
}

// Webhook posts alarms to an address.
type Webhook struct {
	URL    string `koanf:"url" secret:"true" doc:"Where alarms are posted; empty for nowhere."`
	Secret string `koanf:"secret" secret:"true" doc:"Key that signs them (HMAC-SHA256); empty for no signature."`
}

func (a Alarms) check(p *problems) {
	p.must(a.MaxAge >= 720*time.Hour, "alarms.maxAge", "must be at least 720h")
	p.must(a.DriverOffline.Delay >= time.Second, "alarms.driverOffline.delay", "must be at least 1s")
	p.oneOf(a.DriverOffline.Severity, "alarms.driverOffline.severity", "Info", "Warning", "Error", "Critical")
	n := a.Analytics
	p.must(n.Operators >= 1, "alarms.analytics.operators", "must be at least 1")
	p.must(n.RateAcceptable > 0, "alarms.analytics.rateAcceptable", "must be above 0")
	p.must(n.RateMax >= n.RateAcceptable, "alarms.analytics.rateMax", "must not be below rateAcceptable")
	p.must(n.FloodWindow > 0, "alarms.analytics.floodWindow", "must be above 0")
	p.must(n.FloodStart >= 1, "alarms.analytics.floodStart", "must be at least 1")
	p.must(within(n.FloodEnd, 1, n.FloodStart), "alarms.analytics.floodEnd", "must be 1 to floodStart")
	p.must(n.ChatterCount >= 2, "alarms.analytics.chatterCount", "must be at least 2")
	p.must(n.ChatterWindow > 0, "alarms.analytics.chatterWindow", "must be above 0")
	p.must(n.StaleAfter > 0, "alarms.analytics.staleAfter", "must be above 0")
	p.must(within(n.Top, 1, 100), "alarms.analytics.top", "must be 1 to 100")
}

func (a Alerting) check(p *problems) {
	p.must(a.HistoryMaxAge >= 720*time.Hour, "alerting.historyMaxAge", "must be at least 720h")
	p.must(!strings.ContainsFunc(a.WebhookToken, unfitForToken), "alerting.webhookToken",
		"must be printable ASCII without blanks, or no request can carry it")
	seen := make(map[string]bool)
	for i, t := range a.Templates {
		p.must(!seen[t.Channel], fmt.Sprintf("alerting.templates[%d].channel", i), "is there twice")
		seen[t.Channel] = true
	}
	clear(seen)
	for i, f := range a.Floods {
		p.must(!seen[f.Channel], fmt.Sprintf("alerting.floods[%d].channel", i), "is there twice")
		seen[f.Channel] = true
		p.must(f.Every >= 0, fmt.Sprintf("alerting.floods[%d].every", i), "must not be negative")
	}
}
