package teamchat_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/teamchat"
)

func Example() {
	c, err := teamchat.New(teamchat.Options{URL: "https://chat.example.com/hooks/abcdef", Format: teamchat.Mattermost})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Name())
	// Output: teamchat
}

func sent(t *testing.T, format teamchat.Format) map[string]any {
	t.Helper()
	p := channeltest.NewPeer(t)
	c, err := teamchat.New(teamchat.Options{URL: p.URL + "/services/T0/B0", Format: format})
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), channeltest.Message()))
	got := p.Got()[0]
	require.Equal(t, "/services/T0/B0", got.Path)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.Body), &body))
	return body
}

func TestSlack(t *testing.T) {
	body := sent(t, "")
	require.Equal(t, "[Error] plc-1: too hot &lt;5 &amp; @all&gt;", body["text"])
	attachment := body["attachments"].([]any)[0].(map[string]any)
	require.Equal(t, "Firing: too hot\nline two", attachment["text"])
	require.Equal(t, "#c62828", attachment["color"])
}

func TestMattermost(t *testing.T) {
	body := sent(t, teamchat.Mattermost)
	require.Equal(t, "[Error] plc-1: too hot <5 & @\u200ball>", body["text"])
}

func TestTeams(t *testing.T) {
	body := sent(t, teamchat.Teams)
	require.Equal(t, "message", body["type"])
	attachment := body["attachments"].([]any)[0].(map[string]any)
	require.Equal(t, "application/vnd.microsoft.card.adaptive", attachment["contentType"])
	card := attachment["content"].(map[string]any)
	require.Equal(t, "AdaptiveCard", card["type"])
	blocks := card["body"].([]any)
	require.Equal(t, channeltest.Message().Title, blocks[0].(map[string]any)["text"])
	require.Equal(t, "Attention", blocks[0].(map[string]any)["color"])
	require.Equal(t, "Firing: too hot\n\nline two", blocks[1].(map[string]any)["text"])
}

func TestTeamsSaysNoWithStatus200(t *testing.T) {
	p := channeltest.NewPeer(t)
	p.Answer = channeltest.Say(200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429")
	c, err := teamchat.New(teamchat.Options{URL: p.URL, Format: teamchat.Teams})
	require.NoError(t, err)
	outcome, _ := channeltest.Outcome(t, c.Send(t.Context(), channeltest.Message()))
	require.Equal(t, alerting.OutcomeRetryable, outcome)
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel {
		c, err := teamchat.New(teamchat.Options{URL: base + "/services/s3cret-token"})
		require.NoError(t, err)
		return c
	}, "", "s3cret-token")
}

func TestOptions(t *testing.T) {
	for _, o := range []teamchat.Options{{}, {URL: "s3cret"}, {URL: "https://x/s3cret", Format: "irc"}} {
		_, err := teamchat.New(o)
		require.ErrorContains(t, err, "teamchat: Options.")
		require.NotContains(t, err.Error(), "s3cret")
	}
}
