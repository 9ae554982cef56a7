package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/webhook"
)

func Example() {
	peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.Header.Get("Idempotency-Key"))
	}))
	defer peer.Close()
	c, err := webhook.New(webhook.Options{URL: peer.URL, Secret: "shared"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Send(context.Background(), alerting.Notification{ID: "42", Title: "too hot"}))
	// Output:
	// POST 42
	// <nil>
}

func TestSend(t *testing.T) {
	p := channeltest.NewPeer(t)
	c, err := webhook.New(webhook.Options{URL: p.URL + "/hook?token=s3cret", Secret: "k", Headers: map[string]string{"Authorization": "Bearer b"}})
	require.NoError(t, err)
	require.Equal(t, "webhook", c.Name())
	require.True(t, c.AcceptsKey())
	require.NoError(t, c.Send(t.Context(), channeltest.Message()))
	got := p.Got()[0]
	require.Equal(t, "token=s3cret", got.Query)
	require.Equal(t, "Bearer b", got.Header.Get("Authorization"))
	require.Equal(t, channeltest.Message().ID, got.Header.Get(webhook.HeaderKey))
	var n alerting.Notification
	require.NoError(t, json.Unmarshal([]byte(got.Body), &n))
	require.Equal(t, channeltest.Message(), n)
	require.Contains(t, got.Body, `"alarmId":"01890000-0000-7000-8000-000000000003","code":7,`)

	now := time.Now()
	require.True(t, webhook.Verify("k", got.Header, []byte(got.Body), now, time.Minute))
	require.False(t, webhook.Verify("other", got.Header, []byte(got.Body), now, time.Minute))
	require.False(t, webhook.Verify("k", got.Header, []byte(got.Body+" "), now, time.Minute))
	require.False(t, webhook.Verify("k", got.Header, []byte(got.Body), now.Add(time.Hour), time.Minute))
	require.False(t, webhook.Verify("k", http.Header{}, []byte(got.Body), now, time.Minute))
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel {
		c, err := webhook.New(webhook.Options{URL: base + "/hook/s3cret", Secret: "k3y!", Headers: map[string]string{"X-Token": "h3ader"}})
		require.NoError(t, err)
		return c
	}, "", "s3cret", "k3y!", "h3ader")
}

func TestOptions(t *testing.T) {
	for _, o := range []webhook.Options{{}, {URL: "ftp://s3cret"}, {URL: "://s3cret"}, {URL: "http://x", Headers: map[string]string{"a": "s3cret\n"}},
		{URL: "http://x/s3cret", Concurrency: -1}} {
		_, err := webhook.New(o)
		require.ErrorContains(t, err, "webhook: Options.")
		require.NotContains(t, err.Error(), "s3cret")
	}
}
