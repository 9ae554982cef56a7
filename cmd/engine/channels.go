package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/otkit/otkit/alarms"
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
	"github.com/otkit/otkit/transport/server"
)

// alertingOptions are checked as a whole, so that nothing is left for the start to refuse.
func alertingOptions(s settings.Alerting) (server.AlertingOptions, error) {
	o := server.AlertingOptions{WebhookToken: s.WebhookToken, HistoryMaxAge: s.HistoryMaxAge,
		Templates: templates(s.Templates), Flood: floods(s.Floods)}
	var err error
	if o.Channels, err = buildChannels(s); err != nil {
		return o, err
	}
	if o.Routes, err = routes(s.Routes); err != nil {
		return o, err
	}
	return o, alerting.Options{Routes: o.Routes, Templates: o.Templates, Flood: o.Flood}.Check(o.Channels...)
}

// buildChannels makes the channels that are set up.
func buildChannels(s settings.Alerting) ([]alerting.Channel, error) {
	var list []alerting.Channel
	for _, c := range []struct {
		name   string
		wanted bool
		build  func() (alerting.Channel, error)
	}{
		{"email", s.Email.Host != "", func() (alerting.Channel, error) { return buildEmail(s.Email) }},
		{"teamChat", s.TeamChat.URL != "", func() (alerting.Channel, error) {
			return teamchat.New(teamchat.Options{URL: s.TeamChat.URL, Format: teamchat.Format(s.TeamChat.Format)})
		}},
		{"sms", s.SMS.AccountSID != "", func() (alerting.Channel, error) {
			return sms.New(sms.Options{AccountSID: s.SMS.AccountSID, AuthToken: s.SMS.AuthToken, From: s.SMS.From, To: s.SMS.To, BaseURL: s.SMS.BaseURL})
		}},
		{"tts", len(s.TTS.Player) > 0, func() (alerting.Channel, error) {
			return tts.New(tts.Options{Player: s.TTS.Player, Speaker: s.TTS.Speaker, Voice: s.TTS.Voice, Speed: s.TTS.Speed})
		}},
		{"fcm", s.FCM.CredentialsFile != "", func() (alerting.Channel, error) { return buildFCM(s.FCM) }},
		{"apns", s.APNs.KeyFile != "", func() (alerting.Channel, error) { return buildAPNs(s.APNs) }},
		{"telegram", s.Telegram.Token != "", func() (alerting.Channel, error) {
			return telegram.New(telegram.Options{Token: s.Telegram.Token, Chats: s.Telegram.Chats, BaseURL: s.Telegram.BaseURL})
		}},
		{"line", s.Line.Token != "", func() (alerting.Channel, error) {
			return line.New(line.Options{Token: s.Line.Token, To: s.Line.To, BaseURL: s.Line.BaseURL})
		}},
		{"webhook", s.Webhook.URL != "", func() (alerting.Channel, error) {
			return webhook.New(webhook.Options{URL: s.Webhook.URL, Secret: s.Webhook.Secret})
		}},
	} {
		if !c.wanted {
			continue
		}
		built, err := c.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyOf("alerting."+c.name, err), err)
		}
		list = append(list, built)
	}
	return list, nil
}

var optionName = regexp.MustCompile(`^\w+: Options\.(\w+)`)

// renamed are the options whose settings have another name than theirs with a small first letter.
var renamed = map[string]string{"Encryption": "security", "Credentials": "credentialsFile", "Key": "keyFile", "URL": "url",
	"AccountSID": "accountSid", "BaseURL": "baseUrl", "TokenURL": "tokenUrl", "KeyID": "keyId", "TeamID": "teamId"}

// keyOf gives the setting that an error of a channel is about: that of the option which it names.
func keyOf(channel string, err error) string {
	found := optionName.FindStringSubmatch(err.Error())
	if found == nil {
		return channel
	}
	name, other := renamed[found[1]]
	if !other {
		name = strings.ToLower(found[1][:1]) + found[1][1:]
	}
	return channel + "." + name
}

func buildEmail(s settings.Email) (alerting.Channel, error) {
	return email.New(email.Options{Host: s.Host, Port: s.Port, Encryption: email.Encryption(s.Security),
		Username: s.Username, Password: s.Password, From: s.From, To: s.To})
}

func buildFCM(s settings.FCM) (alerting.Channel, error) {
	credentials, err := os.ReadFile(s.CredentialsFile)
	if err != nil {
		return nil, err
	}
	return fcm.New(fcm.Options{Credentials: credentials, Devices: s.Devices, Topics: s.Topics, BaseURL: s.BaseURL, TokenURL: s.TokenURL})
}

func buildAPNs(s settings.APNs) (alerting.Channel, error) {
	key, err := os.ReadFile(s.KeyFile)
	if err != nil {
		return nil, err
	}
	return apns.New(apns.Options{Key: key, KeyID: s.KeyID, TeamID: s.TeamID, Topic: s.Topic, Devices: s.Devices, BaseURL: s.BaseURL})
}

// routes turns the table of the settings into that of the dispatcher.
func routes(s settings.Routes) (alerting.Routes, error) {
	table := alerting.Routes{}
	for _, row := range []struct {
		name     string
		severity alarms.Severity
		channels []string
	}{{"critical", alarms.Critical, s.Critical}, {"error", alarms.Error, s.Error}, {"warning", alarms.Warning, s.Warning}, {"info", alarms.Info, s.Info}} {
		for i, name := range row.channels {
			if !slices.Contains(alerting.KnownChannels(), name) || slices.Contains(row.channels[:i], name) {
				return nil, fmt.Errorf("alerting.routes.%s[%d]: %q must be one of %s, and only once", row.name, i, name, strings.Join(alerting.KnownChannels(), ", "))
			}
		}
		// A row that is empty tells nobody, and is not one that is missing.
		table[row.severity] = append([]string{}, row.channels...)
	}
	return table, nil
}

func templates(list []settings.Template) map[string]alerting.TemplateText {
	all := make(map[string]alerting.TemplateText, len(list))
	for _, t := range list {
		all[t.Channel] = alerting.TemplateText{Subject: t.Subject, Body: t.Body}
	}
	return all
}

func floods(list []settings.Flood) map[string]alerting.Flood {
	all := make(map[string]alerting.Flood, len(list))
	for _, f := range list {
		all[f.Channel] = alerting.Flood{Burst: f.Burst, Every: f.Every}
	}
	return all
}
