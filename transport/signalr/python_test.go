package signalr_test

import (
	"context"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/piptest"
	"github.com/otkit/otkit/transport/signalr"
)

// pythonWays are those by which signalrcore can connect. Its long polling sends a token in the address
// only, and cannot carry MessagePack.
var pythonWays = map[string]stockOptions{
	"chosen by the client":   {Tokens: []string{"good"}},
	"WebSocket":              {Transport: "WebSockets", Tokens: []string{"good"}},
	"without negotiation":    {Transport: "WebSockets", SkipNegotiation: true, Tokens: []string{"good"}},
	"server-sent events":     {Transport: "ServerSentEvents", Tokens: []string{"good"}},
	"long polling":           {Transport: "LongPolling"},
	"MessagePack, WebSocket": {Transport: "WebSockets", MessagePack: true, Tokens: []string{"good"}},
}

func startPython(t *testing.T, p *plant, o stockOptions) *stock {
	t.Helper()
	o.URL = p.url()
	if o.Tokens == nil {
		o.URL += "?access_token=good"
	}
	return startClient(t, exec.CommandContext(t.Context(), piptest.Need(t, "signalrcore==1.0.2"), "testdata/client.py"), o)
}

func TestPythonClient(t *testing.T) {
	for name, o := range pythonWays {
		t.Run(name, func(t *testing.T) {
			// The client reads until something comes before it closes; and what comes as it begins to would confuse it.
			p := startPlant(t, "127.0.0.1:0", signalr.Options{KeepAlive: time.Second}, map[string]context.Context{"good": t.Context()})
			client := startPython(t, p, o)
			client.await("started")
			for i := range 500 {
				require.NoError(t, p.hub.Broadcast("ReceiveAlarm", "Druck > 10 bar, größer \"als\" erlaubt\n\u2028", "Critical", i))
			}
			for i := range 500 {
				require.Equal(t, []any{"Druck > 10 bar, größer \"als\" erlaubt\n\u2028", "Critical", float64(i)}, client.await("message").Args)
			}
			client.tell("invoke")
			require.Equal(t, "The hub has no methods.", client.await("refused").Error)
			require.Equal(t, 1, connected(p.hub))
			client.tell("stop")
			client.await("closed")
			client.await("stopped")
			require.Eventually(t, func() bool { return connected(p.hub) == 0 }, time.Minute, time.Millisecond)
			require.Zero(t, p.hub.Stats().Connecting)
		})
	}
}

func TestPythonClientReconnects(t *testing.T) {
	for name, o := range pythonWays {
		if o.SkipNegotiation {
			continue // it negotiates when it reconnects, and takes that for a failure
		}
		t.Run(name, func(t *testing.T) {
			first, end := context.WithCancel(t.Context())
			defer end()
			p := startPlant(t, "127.0.0.1:0", signalr.Options{}, map[string]context.Context{"good": first})
			client := startPython(t, p, o)
			client.await("started")
			p.extend("good", t.Context())
			end()
			client.await("reconnected")
			require.NoError(t, p.hub.Broadcast("ReceiveAlarm", "after"))
			require.Equal(t, []any{"after"}, client.await("message").Args)
		})
	}
}

func TestPythonClientIsRefusedWithoutAToken(t *testing.T) {
	for name, o := range pythonWays {
		if name == "long polling" {
			continue // has its token in the address
		}
		t.Run(name, func(t *testing.T) {
			p := startPlant(t, "127.0.0.1:0", signalr.Options{}, map[string]context.Context{"good": t.Context()})
			o.Tokens = []string{"bad"}
			require.Contains(t, startPython(t, p, o).await("failed").Error, http.StatusText(http.StatusUnauthorized))
		})
	}
}
