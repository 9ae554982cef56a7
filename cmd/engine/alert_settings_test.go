package main_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

func TestBadChannelSettingsStopTheStart(t *testing.T) {
	t.Parallel()
	mailSettings := mailTo("127.0.0.1:25")
	for name, c := range map[string]struct {
		env   []string
		words []string
	}{
		"mail without recipient":  {mailSettings[:4], []string{"alerting.email.to"}},
		"mail sender":             {with(mailSettings, []string{"Alerting__Email__From=nobody"}), []string{"alerting.email.from"}},
		"mail security":           {with(mailSettings, []string{"Alerting__Email__Security=ssl"}), []string{"alerting.email.security", "starttls"}},
		"mail port":               {with(mailSettings, []string{"Alerting__Email__Port=70000"}), []string{"alerting.email.port"}},
		"chat address":            {[]string{"Alerting__TeamChat__Url=chat.example.com/hook"}, []string{"alerting.teamChat.url"}},
		"chat format":             {[]string{"Alerting__TeamChat__Url=https://chat.example.com/x", "Alerting__TeamChat__Format=irc"}, []string{"alerting.teamChat.format"}},
		"SMS without token":       {[]string{"Alerting__Sms__AccountSid=AC1"}, []string{"alerting.sms.authToken"}},
		"player that is not here": {[]string{"Alerting__Tts__Player=no-such-player"}, []string{"alerting.tts.player", "no-such-player"}},
		"key file of FCM":         {[]string{"Alerting__Fcm__CredentialsFile=/nowhere/fcm.json"}, []string{"alerting.fcm", "/nowhere/fcm.json"}},
		"key file of APNs":        {[]string{"Alerting__Apns__KeyFile=go.mod"}, []string{"alerting.apns.keyFile"}},
		"chats of Telegram":       {[]string{"Alerting__Telegram__Token=1:x"}, []string{"alerting.telegram.chats"}},
		"users of LINE":           {[]string{"Alerting__Line__Token=x"}, []string{"alerting.line.to"}},
		"address of webhook":      {[]string{"Alerting__Webhook__Url=plant"}, []string{"alerting.webhook.url"}},
		"route to nowhere":        {[]string{"Alerting__Routes__Critical=email,pager"}, []string{"alerting.routes.critical", "pager"}},
		"template's field":        {[]string{"Alerting__Templates__0__Subject={{.Nope}}"}, []string{"Nope"}},
		"template's syntax":       {[]string{"Alerting__Templates__0__Channel=email", "Alerting__Templates__0__Body=Hello {{if"}, []string{"email", "body"}},
		"template's channel":      {[]string{"Alerting__Templates__0__Channel=pager"}, []string{"pager"}},
		"limit's channel":         {[]string{"Alerting__Floods__0__Channel=pager"}, []string{"pager"}},
		"route twice":             {[]string{"Alerting__Routes__Info=email,email"}, []string{"alerting.routes.info", "email"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			run(t, c.env, "", "-data", data, "-listen", "127.0.0.1:0").refused(t, c.words...)
			run(t, c.env, "", "config", "check", "-data", data).refused(t, c.words...)
		})
	}
	run(t, with(mailSettings, tellBoth, []string{"Alerting__Floods__0__Channel=email"}), "", "config", "check").ok(t)
}

func TestConfigPrintMasksSecretsOfChannels(t *testing.T) {
	t.Parallel()
	r := run(t, []string{"Alerting__WebhookToken=a-secret-1", "Alerting__Email__Password=a-secret-2", "Alerting__Email__Host=mail.example.com",
		"Alerting__TeamChat__Url=https://chat.example.com/a-secret-3", "Alerting__Sms__AuthToken=a-secret-4", "Alerting__Telegram__Token=a-secret-5",
		"Alerting__Line__Token=a-secret-6", "Alerting__Webhook__Url=https://hook.example.com/a-secret-7?k=a-secret-8", "Alerting__Webhook__Secret=a-secret-9",
		"Alerting__Fcm__Devices=a-secret-10,a-secret-11", "Alerting__Apns__Devices=a-secret-12"}, "", "config", "print").ok(t)
	require.NotContains(t, r.out, "a-secret-")
	require.Contains(t, r.out, "mail.example.com")
	require.Contains(t, r.out, "Alerting__Webhook__Secret")
}

func TestRoutesAndWebhookTokenAreSettings(t *testing.T) {
	t.Parallel()
	box, addr := openMailbox(t, "127.0.0.1:0")
	receiver := newHook(t, false)
	text := "alerting:\n  webhookToken: from-the-sender\n  routes:\n    critical: [webhook]\n    warning: [email, sms]\n    info: []\nauth:\n  protectOpenSurfaces: true\n"
	e := start(t, with(known, mailTo(addr), receiver.settings()), "-config", file(t, "engine.yaml", text), "-data", t.TempDir())
	require.Equal(t, http.StatusUnauthorized, e.tell(alert("critical", "x", "x")).StatusCode())
	require.Contains(t, e.log.String(), `msg="channels without settings omitted"`)

	sender := e.with("from-the-sender")
	for _, severity := range []string{"info", "critical", "warning"} {
		answer, err := sender.PostAlertWebhookWithResponse(t.Context(), client.WebhookPayload{Alerts: []client.WebhookAlert{alert(severity, severity+"-source", "Told")}})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	}
	require.Equal(t, http.StatusUnauthorized, sender.status(), "the token is for the webhook alone")
	eventually(t, "channels are not told", func() bool { return len(box.got()) > 1 && len(receiver.got()) > 0 })
	require.Len(t, box.subjects(), 2, "the refused post is told as well")
	require.Contains(t, box.subjects(), "[Warning] warning-source: Told")
	require.Len(t, receiver.got(), 1)
	require.Equal(t, "critical-source", receiver.got()[0].Source)
	require.Len(t, e.admin().activeAlarms(), 4)
}
