package telegram_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/telegram"
)

const token = "12345:s3cret-TOKEN"

func Example() {
	c, err := telegram.New(telegram.Options{Token: "12345:abc", Chats: []string{"-1001"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Name())
	// Output: telegram
}

func channel(t testing.TB, base string) *telegram.Channel {
	t.Helper()
	c, err := telegram.New(telegram.Options{Token: token, Chats: []string{"@plant"}, BaseURL: base})
	require.NoError(t, err)
	return c
}

func TestSend(t *testing.T) {
	p := channeltest.NewPeer(t)
	p.Answer = channeltest.Say(200, `{"ok":true,"result":{}}`)
	require.NoError(t, channeltest.To(channel(t, p.URL)).Send(t.Context(), channeltest.Message()))
	got := p.Got()[0]
	require.Equal(t, "/bot"+token+"/sendMessage", got.Path)
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.Body), &body))
	require.Equal(t, "@plant", body["chat_id"])
	require.Equal(t, channeltest.Message().Title+"\n\n"+channeltest.Message().Body, body["text"])
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		outcome alerting.Outcome
		after   time.Duration
		text    string
	}{
		{429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":31}}`, alerting.OutcomeRetryable, 31 * time.Second, "Too Many Requests"},
		{400, `{"ok":false,"description":"Bad Request: chat not found"}`, alerting.OutcomePermanent, 0, "chat not found"},
		{200, `{"ok":false,"description":"no ` + token + `"}`, alerting.OutcomePermanent, 0, "no ***"},
		{200, `<html>`, alerting.OutcomeAmbiguous, 0, "not of Telegram"},
		{502, `<html>`, alerting.OutcomeAmbiguous, 0, "502"},
	} {
		p := channeltest.NewPeer(t)
		p.Answer = channeltest.Say(c.status, c.body)
		err := channeltest.To(channel(t, p.URL)).Send(t.Context(), channeltest.Message())
		outcome, after := channeltest.Outcome(t, err)
		require.Equal(t, c.outcome, outcome, c.body)
		require.Equal(t, c.after, after)
		var e *alerting.SendError
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.after > 0, e.RecipientOnly, "a limit of the chat")
		require.ErrorContains(t, err, c.text)
	}
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel { return channel(t, base) }, "", token)
}

func TestOptions(t *testing.T) {
	for _, o := range []telegram.Options{{}, {Token: token}, {Token: token, Chats: []string{"1"}, BaseURL: "x"}} {
		_, err := telegram.New(o)
		require.ErrorContains(t, err, "telegram: Options.")
		require.NotContains(t, err.Error(), token)
	}
	c, err := telegram.New(telegram.Options{Token: token, Chats: []string{"1"}, BaseURL: "http://127.0.0.1:1", Client: &http.Client{}})
	require.NoError(t, err)
	require.NotContains(t, channeltest.To(c).Send(t.Context(), channeltest.Message()).Error(), token)
}
