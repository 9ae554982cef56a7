package line_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/line"
)

func Example() {
	c, err := line.New(line.Options{Token: "secret", To: []string{"U4af4980629"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Name(), c.AcceptsKey())
	// Output: line true
}

func channel(t testing.TB, base string) *line.Channel {
	t.Helper()
	c, err := line.New(line.Options{Token: "s3cret", To: []string{"U1", "U2"}, BaseURL: base})
	require.NoError(t, err)
	return c
}

func TestSend(t *testing.T) {
	p := channeltest.NewPeer(t)
	n := channeltest.Message()
	n.Title, n.Body = "t", "b"
	require.NoError(t, channeltest.To(channel(t, p.URL)).Send(t.Context(), n))
	require.Len(t, p.Got(), 2)
	got := p.Got()[0]
	require.Equal(t, "/v2/bot/message/push", got.Path)
	require.Equal(t, "Bearer s3cret", got.Header.Get("Authorization"))
	require.Equal(t, n.ID, got.Header.Get("X-Line-Retry-Key"))
	require.JSONEq(t, `{"to":"U1","messages":[{"type":"text","text":"t\n\nb"}]}`, got.Body)
}

func TestTakenBefore(t *testing.T) {
	p := channeltest.NewPeer(t)
	p.Answer = channeltest.Say(409, `{"message":"The retry key is already accepted"}`)
	require.NoError(t, channeltest.To(channel(t, p.URL)).Send(t.Context(), channeltest.Message()))
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel { return channel(t, base) }, "", "s3cret")
}

func TestOptions(t *testing.T) {
	for _, o := range []line.Options{{}, {Token: "s3cret"}, {Token: "s3cret", To: make([]string, 501)}, {Token: "s3cret", To: []string{"U"}, BaseURL: "x"}} {
		_, err := line.New(o)
		require.ErrorContains(t, err, "line: Options.")
		require.NotContains(t, err.Error(), "s3cret")
	}
}
