package engineconfig

import (
	"errors"
	"os"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/apns"
	"github.com/otkit/otkit/alerting/channel/email"
	"github.com/otkit/otkit/alerting/channel/fcm"
	"github.com/otkit/otkit/alerting/channel/line"
	"github.com/otkit/otkit/alerting/channel/sms"
	"github.com/otkit/otkit/alerting/channel/teamchat"
	"github.com/otkit/otkit/alerting/channel/telegram"
	"github.com/otkit/otkit/alerting/channel/tts"
	"github.com/otkit/otkit/alerting/channel/webhook"
	"github.com/otkit/otkit/internal/settings"
)

// Email is the channel of that name.
type Email struct {
	Host     string   `key:"host" doc:"SMTP server; empty for no e-mail."`
	Port     int      `key:"port" doc:"Its port; 0 for that of the security."`
	Security string   `key:"security" default:"starttls" doc:"starttls (required), tls, or none for a server on this machine."`
	Username string   `key:"username" doc:"Account at the server; empty for none."`
	Password string   `key:"password" secret:"true" doc:"Its password."`
	From     string   `key:"from" doc:"Sender's address."`
	To       []string `key:"to" doc:"Recipients' addresses."`
	CAFile   string   `key:"caFile" doc:"PEM file with the authorities of the server's certificate; empty for those of the system."`
}

// TeamChat is the channel of that name.
type TeamChat struct {
	URL    string `key:"url" secret:"true" doc:"Incoming webhook of the chat; empty for none."`
	Format string `key:"format" default:"slack" doc:"Service behind the webhook: slack, teams or mattermost."`
}

// SMS is the channel of that name, for Twilio's interface.
type SMS struct {
	AccountSID string   `key:"accountSid" doc:"Account at Twilio, or at who has its interface; empty for none."`
	AuthToken  string   `key:"authToken" secret:"true" doc:"Its token."`
	From       string   `key:"from" doc:"Number in E.164 form, or a messaging service."`
	To         []string `key:"to" doc:"Numbers in E.164 form."`
	BaseURL    string   `key:"baseUrl" doc:"Another address of the interface."`
}

// TTS is the channel that speaks.
type TTS struct {
	Player  []string `key:"player" doc:"Command that plays a WAV file, whose name is appended, such as aplay,-q; empty for none."`
	Speaker string   `key:"speaker" doc:"Program that makes audio, with the options of espeak-ng; empty for espeak-ng."`
	Voice   string   `key:"voice" doc:"Voice, such as de or en-us."`
	Speed   int      `key:"speed" doc:"Words a minute, 80 to 450; 0 for that of the speaker."`
}

// FCM is the mobile push by Firebase Cloud Messaging.
type FCM struct {
	CredentialsFile string   `key:"credentialsFile" doc:"Key file of a service account, JSON; empty for none."`
	Devices         []string `key:"devices" secret:"true" doc:"Registration tokens."`
	Topics          []string `key:"topics" doc:"Names of topics."`
	BaseURL         string   `key:"baseUrl" doc:"Another address of the service."`
	TokenURL        string   `key:"tokenUrl" doc:"Another address for tokens than that of the credentials."`
}

// APNs is the mobile push by Apple.
type APNs struct {
	KeyFile string   `key:"keyFile" doc:"Signing key as Apple gives it (.p8); empty for none."`
	KeyID   string   `key:"keyId" doc:"Id of the key."`
	TeamID  string   `key:"teamId" doc:"Id of the team."`
	Topic   string   `key:"topic" doc:"Bundle id of the app."`
	Devices []string `key:"devices" secret:"true" doc:"Device tokens."`
	BaseURL string   `key:"baseUrl" doc:"Another address of the service."`
}

// Telegram is the messenger of that name.
type Telegram struct {
	Token   string   `key:"token" secret:"true" doc:"Token of the bot; empty for none."`
	Chats   []string `key:"chats" doc:"Ids of chats, or names of channels such as @plant."`
	BaseURL string   `key:"baseUrl" doc:"Another address of the interface."`
}

// Line is the messenger of that name.
type Line struct {
	Token   string   `key:"token" secret:"true" doc:"Channel access token; empty for none."`
	To      []string `key:"to" doc:"Ids of users."`
	BaseURL string   `key:"baseUrl" doc:"Another address of the interface."`
}

// Webhook posts alarms to an address.
type Webhook struct {
	URL    string `key:"url" secret:"true" doc:"Where alarms are posted; empty for nowhere."`
	Secret string `key:"secret" secret:"true" doc:"Key that signs them (HMAC-SHA256); empty for no signature."`
}

// channel makes one channel from its settings.
type channel struct {
	key        string // of its section below alerting
	configured bool
	build      func(p *settings.Problems) (alerting.Channel, error)
	names      map[string]string // options whose settings have other names
}

// list returns the channels that there are, in the order in which they are made.
func (a Alerting) list() []channel {
	return []channel{
		{key: "email", configured: a.Email.Host != "", names: map[string]string{"Encryption": "security"}, build: a.Email.build},
		{key: "teamChat", configured: a.TeamChat.URL != "", build: func(*settings.Problems) (alerting.Channel, error) {
			return teamchat.New(teamchat.Options{URL: a.TeamChat.URL, Format: teamchat.Format(a.TeamChat.Format)})
		}},
		{key: "sms", configured: a.SMS.AccountSID != "", build: func(*settings.Problems) (alerting.Channel, error) {
			return sms.New(sms.Options{AccountSID: a.SMS.AccountSID, AuthToken: a.SMS.AuthToken, From: a.SMS.From, To: a.SMS.To, BaseURL: a.SMS.BaseURL})
		}},
		{key: "tts", configured: len(a.TTS.Player) > 0, build: func(*settings.Problems) (alerting.Channel, error) {
			return tts.New(tts.Options{Player: a.TTS.Player, Speaker: a.TTS.Speaker, Voice: a.TTS.Voice, Speed: a.TTS.Speed})
		}},
		{key: "fcm", configured: a.FCM.CredentialsFile != "", names: map[string]string{"Credentials": "credentialsFile"}, build: a.FCM.build},
		{key: "apns", configured: a.APNs.KeyFile != "", names: map[string]string{"Key": "keyFile"}, build: a.APNs.build},
		{key: "telegram", configured: a.Telegram.Token != "", build: func(*settings.Problems) (alerting.Channel, error) {
			return telegram.New(telegram.Options{Token: a.Telegram.Token, Chats: a.Telegram.Chats, BaseURL: a.Telegram.BaseURL})
		}},
		{key: "line", configured: a.Line.Token != "", build: func(*settings.Problems) (alerting.Channel, error) {
			return line.New(line.Options{Token: a.Line.Token, To: a.Line.To, BaseURL: a.Line.BaseURL})
		}},
		{key: "webhook", configured: a.Webhook.URL != "", build: func(*settings.Problems) (alerting.Channel, error) {
			return webhook.New(webhook.Options{URL: a.Webhook.URL, Secret: a.Webhook.Secret})
		}},
	}
}

// errReported stands for problems that have been added already.
var errReported = errors.New("reported")

// channels makes the channels that are configured and whose settings are valid.
func (a Alerting) channels(p *settings.Problems) []alerting.Channel {
	var all []alerting.Channel
	for _, c := range a.list() {
		path := "alerting." + c.key
		if !c.configured || p.Has(path) {
			continue
		}
		built, err := c.build(p)
		switch {
		case err == nil:
			all = append(all, built)
		case !errors.Is(err, errReported):
			p.Take(err, path, c.names)
		}
	}
	return all
}

func (e Email) build(p *settings.Problems) (alerting.Channel, error) {
	trusted := trust(p, "alerting.email.caFile", e.CAFile)
	if p.Has("alerting.email.caFile") {
		return nil, errReported
	}
	return email.New(email.Options{Host: e.Host, Port: e.Port, Encryption: email.Encryption(e.Security), TLS: trusted,
		Username: e.Username, Password: e.Password, From: e.From, To: e.To})
}

func (f FCM) build(p *settings.Problems) (alerting.Channel, error) {
	credentials, ok := readFile(p, "alerting.fcm.credentialsFile", f.CredentialsFile)
	if !ok {
		return nil, errReported
	}
	return fcm.New(fcm.Options{Credentials: credentials, Devices: f.Devices, Topics: f.Topics, BaseURL: f.BaseURL, TokenURL: f.TokenURL})
}

func (a APNs) build(p *settings.Problems) (alerting.Channel, error) {
	key, ok := readFile(p, "alerting.apns.keyFile", a.KeyFile)
	if !ok {
		return nil, errReported
	}
	return apns.New(apns.Options{Key: key, KeyID: a.KeyID, TeamID: a.TeamID, Topic: a.Topic, Devices: a.Devices, BaseURL: a.BaseURL})
}

// readFile reads the file that a setting names.
func readFile(p *settings.Problems, path, name string) ([]byte, bool) {
	content, err := os.ReadFile(name)
	if err != nil {
		p.Add(path, "is not usable: "+err.Error())
	}
	return content, err == nil
}
