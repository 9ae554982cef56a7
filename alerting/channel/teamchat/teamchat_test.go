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
	return sentOf(t, format, channeltest.Message())
}

func sentOf(t *testing.T, format teamchat.Format, n alerting.Notification) map[string]any {
	t.Helper()
	p := channeltest.NewPeer(t)
	c, err := teamchat.New(teamchat.Options{URL: p.URL + "/services/T0/B0", Format: format})
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), n))
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
	require.Equal(t, `\[Error\] plc-1: too hot <5 & @`+"\u200ball>", body["text"])
}

// links is a text that a sender of alerts may have written.
const links = "![x](https://evil.example/p.png) [safe](https://evil.example) *b* _i_ ~~s~~ `c` \\[x](y)"

func TestMarkdownOfOthersIsText(t *testing.T) {
	n := channeltest.Message()
	n.Title, n.Body = "# "+links, links+"\n\n| "+links
	body := sentOf(t, teamchat.Mattermost, n)
	attachment := body["attachments"].([]any)[0].(map[string]any)
	for _, text := range []any{body["text"], attachment["text"]} {
		require.NotRegexp(t, "(^|[^\\\\])(\\\\\\\\)*[]\\[()!*_~`#|]", text, "each mark is escaped")
		require.Contains(t, text, `\!\[x\]\(https://evil.example/p.png\)`)
	}
	require.Equal(t, n.Title, attachment["fallback"], "which is plain text")

	card := sentOf(t, teamchat.Teams, n)["attachments"].([]any)[0].(map[string]any)["content"].(map[string]any)
	var lines []string
	for _, block := range card["body"].([]any) {
		require.Equal(t, "RichTextBlock", block.(map[string]any)["type"], "a TextBlock is read as Markdown")
		lines = append(lines, run(block)["text"].(string))
	}
	require.Equal(t, []string{n.Title, links, "| " + links}, lines)
}

// run returns the only run of text of a block.
func run(block any) map[string]any {
	return block.(map[string]any)["inlines"].([]any)[0].(map[string]any)
}

func TestTeams(t *testing.T) {
	body := sent(t, teamchat.Teams)
	require.Equal(t, "message", body["type"])
	attachment := body["attachments"].([]any)[0].(map[string]any)
	require.Equal(t, "application/vnd.microsoft.card.adaptive", attachment["contentType"])
	card := attachment["content"].(map[string]any)
	require.Equal(t, "AdaptiveCard", card["type"])
	blocks := card["body"].([]any)
	require.Equal(t, channeltest.Message().Title, run(blocks[0])["text"])
	require.Equal(t, "Attention", run(blocks[0])["color"])
	require.Equal(t, "Firing: too hot", run(blocks[1])["text"])
	require.Equal(t, "line two", run(blocks[2])["text"])
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
