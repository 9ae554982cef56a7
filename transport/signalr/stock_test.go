package signalr_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/signalr"
)

const (
	stockClient   = "@microsoft/signalr@10.0.11"
	stockProtocol = "@microsoft/signalr-protocol-msgpack@10.0.11"
)

// stockOptions are what the scripts in testdata take.
type stockOptions struct {
	URL             string   `json:"url"`
	Transport       string   `json:"transport,omitempty"` // empty: the client chooses
	SkipNegotiation bool     `json:"skipNegotiation,omitempty"`
	MessagePack     bool     `json:"messagePack,omitempty"` // else JSON
	Tokens          []string `json:"tokens,omitempty"`      // of the accessTokenFactory, one after the other
	Clients         int      `json:"clients,omitempty"`
	Messages        int      `json:"messages,omitempty"`
}

type stockEvent struct {
	Event, Error string
	Args         []any
	Misplaced    int
}

// stock is a process with the stock client.
type stock struct {
	t      testing.TB
	stdin  io.WriteCloser
	events *bufio.Scanner
}

func startStock(t testing.TB, script string, o stockOptions) *stock {
	t.Helper()
	return startClient(t, npmtest.Command(t, npmtest.Need(t, stockClient, stockProtocol), script), o)
}

// startClient starts a script that takes its options as the last argument.
func startClient(t testing.TB, cmd *exec.Cmd, o stockOptions) *stock {
	t.Helper()
	options, err := json.Marshal(o)
	require.NoError(t, err)
	cmd.Args = append(cmd.Args, string(options))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // ends the wait for an event
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
		late.Stop()
	})
	return &stock{t, stdin, bufio.NewScanner(stdout)}
}

// await returns the next event, which must be the one named.
func (s *stock) await(name string) stockEvent {
	s.t.Helper()
	require.True(s.t, s.events.Scan(), "waiting for %s: %v", name, s.events.Err())
	var e stockEvent
	require.NoError(s.t, json.Unmarshal(s.events.Bytes(), &e))
	require.Equal(s.t, name, e.Event, s.events.Text())
	return e
}

func (s *stock) tell(command string) {
	s.t.Helper()
	_, err := fmt.Fprintln(s.stdin, command)
	require.NoError(s.t, err)
}

// plant is a hub on a port, behind the kind of check that an engine has.
type plant struct {
	t    testing.TB
	hub  *signalr.Hub
	addr string
	stop func()

	mu   sync.Mutex
	life map[string]context.Context // of each good token; nil when none is needed
}

type lifeKey struct{}

func startPlant(t testing.TB, addr string, opts signalr.Options, life map[string]context.Context) *plant {
	t.Helper()
	p := &plant{t: t, life: life}
	opts.Lifetime = func(ctx context.Context) (context.Context, func()) {
		life, _ := ctx.Value(lifeKey{}).(context.Context)
		if life == nil {
			return ctx, func() {}
		}
		return life, func() {}
	}
	var err error
	p.hub, err = signalr.New(opts)
	require.NoError(t, err)
	server, err := middleware.NewServer(http.HandlerFunc(p.serve), middleware.ServerOptions{})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	p.addr = listener.Addr().String()
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	p.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, p.hub.Close(ctx))
		require.NoError(t, server.Shutdown(ctx))
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	t.Cleanup(p.stop)
	return p
}

func (p *plant) serve(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("access_token")
	if header := r.Header.Get("Authorization"); len(header) > 7 {
		token = header[7:]
	}
	p.mu.Lock()
	life, good := p.life[token]
	p.mu.Unlock()
	if p.life != nil && !good {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	p.hub.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lifeKey{}, life)))
}

// extend replaces the lifetime of a token.
func (p *plant) extend(token string, life context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life[token] = life
}

func (p *plant) url() string { return "http://" + p.addr + "/hubs/alarms" }

// ways are all by which the stock client can connect.
var ways = map[string]stockOptions{
	"chosen by the client": {},
	"WebSocket":            {Transport: "WebSockets"},
	"without negotiation":  {Transport: "WebSockets", SkipNegotiation: true},
	"server-sent events":   {Transport: "ServerSentEvents"},
	"long polling":         {Transport: "LongPolling"},

	"MessagePack, chosen by the client": {MessagePack: true},
	"MessagePack, WebSocket":            {MessagePack: true, Transport: "WebSockets"},
	"MessagePack, without negotiation":  {MessagePack: true, Transport: "WebSockets", SkipNegotiation: true},
	"MessagePack, long polling":         {MessagePack: true, Transport: "LongPolling"},
}

func TestStockClient(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			p := startPlant(t, "127.0.0.1:0", signalr.Options{KeepAlive: 50 * time.Millisecond}, nil)
			o.URL = p.url()
			client := startStock(t, "testdata/client.cjs", o)
			client.await("started")
			for i := range 500 {
				require.NoError(t, p.hub.Broadcast("ReceiveAlarm", "Druck > 10 bar, größer \"als\" erlaubt\n\u2028", "Critical", i))
				if i%100 == 0 {
					time.Sleep(60 * time.Millisecond) // pings between
				}
			}
			for i := range 500 {
				require.Equal(t, []any{"Druck > 10 bar, größer \"als\" erlaubt\n\u2028", "Critical", float64(i)}, client.await("message").Args)
			}
			client.tell("invoke")
			require.Contains(t, client.await("refused").Error, "The hub has no methods.")
			client.tell("send")
			client.await("sent")
			require.NoError(t, p.hub.Broadcast("ReceiveAlarm"))
			client.await("message")
			require.Equal(t, 1, connected(p.hub))
			client.tell("stop")
			require.Empty(t, client.await("closed").Error)
			client.await("stopped")
			require.Eventually(t, func() bool { return connected(p.hub) == 0 }, time.Minute, time.Millisecond)
			require.Zero(t, p.hub.Stats().Connecting)
		})
	}
}

func TestStockClientInvokes(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPlant(t, "127.0.0.1:0", signalr.Options{Methods: methods()}, nil)
			o.URL = p.url()
			client := startStock(t, "testdata/client.cjs", o)
			client.await("started")
			client.tell("echo")
			require.Equal(t, []any{[]any{"größer", 1.5, []any{nil, map[string]any{"a": true}}}}, client.await("answered").Args)
			client.tell("tell")
			require.Equal(t, []any{[]any{"c"}, 60.0}, client.await("message").Args)
			client.tell("watch")
			require.Equal(t, []any{[]any{"a", "b"}, 50.0}, client.await("message").Args)
			require.Equal(t, []any{"nothing"}, client.await("answered").Args)
			client.tell("stuck")
			require.Contains(t, client.await("refused").Error, "VALVE_STUCK: the valve is stuck")
			client.tell("invoke")
			require.Contains(t, client.await("refused").Error, "HUB_METHOD_NOT_FOUND")
			client.tell("stop")
			require.Empty(t, client.await("closed").Error)
			client.await("stopped")
		})
	}
}

func connected(h *signalr.Hub) int {
	s := h.Stats()
	return s.WebSockets + s.ServerSentEvents + s.LongPolling
}

func TestStockClientReconnects(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			first := startPlant(t, "127.0.0.1:0", signalr.Options{}, nil)
			o.URL = first.url()
			client := startStock(t, "testdata/client.cjs", o)
			client.await("started")
			first.stop()
			client.await("reconnecting")
			second := startPlant(t, first.addr, signalr.Options{}, nil)
			client.await("reconnected")
			require.NoError(t, second.hub.Broadcast("ReceiveAlarm", "after"))
			require.Equal(t, []any{"after"}, client.await("message").Args)
		})
	}
}

func TestStockClientIsToldWhenItsTokenEnds(t *testing.T) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, end := context.WithCancel(t.Context())
			p := startPlant(t, "127.0.0.1:0", signalr.Options{}, map[string]context.Context{"first": first, "second": t.Context()})
			o.URL = p.url()
			refused := startStock(t, "testdata/client.cjs", o)
			failed := refused.await("failed").Error
			if !o.SkipNegotiation { // a WebSocket has no reason
				require.Contains(t, failed, "401")
			}
			o.Tokens = []string{"first", "second"}
			if o.Transport == "" || o.Transport == "WebSockets" && !o.SkipNegotiation {
				o.Tokens = slices.Insert(o.Tokens, 1, "first") // is asked for negotiation, and again for the socket
			}
			client := startStock(t, "testdata/client.cjs", o)
			client.await("started")
			end()
			require.Contains(t, client.await("reconnecting").Error, "The lifetime of the connection has ended.")
			client.await("reconnected")
			require.NoError(t, p.hub.Broadcast("ReceiveAlarm", "after"))
			require.Equal(t, []any{"after"}, client.await("message").Args)
		})
	}
}
