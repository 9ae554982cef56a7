package post_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/internal/post"
)

func Example() {
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such room: s3cret", http.StatusNotFound)
	}))
	defer peer.Close()
	_, err := post.New(nil, "s3cret").JSON(context.Background(), peer.URL+"/s3cret", nil, "hello")
	fmt.Println(err)
	// Output: peer answered 404 Not Found no such room: ***
}

func TestRetryAfterDate(t *testing.T) {
	p := channeltest.NewPeer(t)
	p.Answer = func(w http.ResponseWriter, _ channeltest.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, err := post.New(nil).JSON(t.Context(), p.URL, nil, 1)
	_, after := channeltest.Outcome(t, err)
	require.InDelta(t, time.Hour.Seconds(), after.Seconds(), 5)
}

func TestRedact(t *testing.T) {
	c := post.New(nil, append(post.HookSecrets("https://u:pa55word@h/services/T0123456/x?token=a/b"), "")...)
	require.Equal(t, "*** *** *** *** /x", c.Redact("pa55word T0123456 a/b a%2Fb /x"))
}

func TestURLs(t *testing.T) {
	base, err := post.BaseURL("https://h:1/p/")
	require.NoError(t, err)
	require.Equal(t, "https://h:1/p", base)
	for _, text := range []string{"", "h", "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h#f", "http://[", "//h"} {
		_, err := post.BaseURL(text)
		require.Error(t, err, text)
	}
}

func TestCut(t *testing.T) {
	require.Equal(t, "äöü", post.Cut("äöü", 3))
	require.Equal(t, "äö…", post.Cut("äöüß", 3))
}
