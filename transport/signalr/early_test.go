package signalr_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/signalr"
)

// Some clients post their handshake before their first poll or their stream.
func TestWhatIsSentBeforeTheTransportIsKnown(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		invoke := `{"type":1,"invocationId":"1","target":"x","arguments":[]}` + "\x1e"
		post := func(at, body string) {
			t.Helper()
			status, text := r.do("POST", at, body)
			require.Equal(t, 200, status)
			require.Empty(t, text)
		}
		at := r.negotiate()
		post(at, hello[:7])
		post(at, hello[7:]+invoke)
		require.Equal(t, signalr.Stats{Connecting: 1}, r.Stats())
		r.do("GET", at, "")
		require.Equal(t, 1, r.Stats().LongPolling)
		_, body := r.do("GET", at, "")
		require.Equal(t, "{}\x1e"+`{"type":3,"invocationId":"1","error":"The hub has no methods."}`+"\x1e", body)

		at = r.negotiate()
		post(at, hello)
		p := r.events(at)
		require.Equal(t, `{}`, p.next())
		require.NoError(t, r.Broadcast("ReceiveAlarm"))
		require.Equal(t, call(""), p.next())

		at = r.negotiate()
		post(at, strings.Repeat(" ", 20<<10))
		status, _ := r.do("POST", at, strings.Repeat(" ", 20<<10))
		require.Equal(t, 413, status)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		status, _ = r.do("POST", at, hello)
		require.Equal(t, 404, status, "it comes to nothing without a transport")
	})
}

// What a client of version 0 does not read of an answer would wait for the next one.
func TestAClientOfVersion0GetsOneMessageAPoll(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		at := r.negotiate()
		r.do("POST", at, `{"protocol":"json","version":0}`+"\x1e")
		r.do("GET", at, "")
		for _, arg := range []string{"1", "2"} {
			require.NoError(t, r.Broadcast("ReceiveAlarm", arg))
		}
		closed := make(chan error)
		go func() { closed <- r.Close(t.Context()) }()
		synctest.Wait()
		for _, want := range []string{"{}", call(`"1"`), call(`"2"`), `{"type":7,"allowReconnect":true}`} {
			_, body := r.do("GET", at, "")
			require.Equal(t, want+"\x1e", body)
		}
		require.NoError(t, <-closed)
	})
}

// A client that never pings cannot be distinguished from an idle one; the others are closed when their
// pings stop.
func TestAClientThatNeverPingsStays(t *testing.T) {
	inBubble(t, signalr.Options{}, func(t *testing.T, r *rig) {
		p, _ := r.stream()
		for range 10 {
			require.Equal(t, `{"type":6}`, p.next())
		}
		require.NoError(t, r.Broadcast("ReceiveAlarm"))
		require.Equal(t, call(""), p.next())
	})
}
