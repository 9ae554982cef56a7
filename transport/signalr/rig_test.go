package signalr_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/signalr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hello   = `{"protocol":"json","version":1}` + "\x1e"
	pinging = `{"type":6}` + "\x1e"
)

// pipes is a network without buffers: a write waits for its reader, and nothing waits outside of the
// bubble of a test.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.accept <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rig is a hub behind a server on pipes, with a client.
type rig struct {
	t testing.TB
	*signalr.Hub
	pipes  *pipes
	client *http.Client
}

const url = "http://plant/hubs/alarms"

func newRig(t testing.TB, opts signalr.Options) *rig {
	t.Helper()
	return newRigOver(t, opts, nil)
}

// newRigOver returns a rig that speaks chosen versions of HTTP; nil: version 1.
func newRigOver(t testing.TB, opts signalr.Options, versions *http.Protocols) *rig {
	t.Helper()
	hub, err := signalr.New(opts)
	require.NoError(t, err)
	server, err := middleware.NewServer(hub, middleware.ServerOptions{})
	require.NoError(t, err)
	server.Protocols = versions
	r := &rig{t: t, Hub: hub, pipes: newPipes()}
	transport := &http.Transport{DialContext: r.pipes.dial, Protocols: versions}
	r.client = &http.Client{Transport: transport}
	served := make(chan error)
	go func() { served <- server.Serve(r.pipes) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = hub.Close(ctx)
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return r
}

// inBubble runs a test on fake time.
func inBubble(t *testing.T, opts signalr.Options, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // the server lets a refused sender read its answer
		test(t, newRig(t, opts))
	})
}

// do sends a request and returns status and body. Any goroutine may call it.
func (r *rig) do(method, url, body string, header ...string) (status int, text string) {
	r.t.Helper()
	status, text, err := r.try(method, url, body, header)
	if err != nil {
		r.t.Errorf("%s %s: %v", method, url, err)
	}
	return status, text
}

func (r *rig) try(method, url, body string, header []string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), err
}

type negotiated struct {
	NegotiateVersion              int
	ConnectionID, ConnectionToken string
	AvailableTransports           []struct {
		Transport       string
		TransferFormats []string
	}
}

// negotiate returns the address of a new connection.
func (r *rig) negotiate() string {
	r.t.Helper()
	status, body := r.do("POST", url+"/negotiate?negotiateVersion=1", "")
	require.Equal(r.t, 200, status, body)
	var n negotiated
	require.NoError(r.t, json.Unmarshal([]byte(body), &n))
	return url + "?id=" + n.ConnectionToken
}

// peer is the client's end of a connection that pushes.
type peer struct {
	t      testing.TB
	socket *websocket.Conn // nil for events
	events *bufio.Reader
	leave  func()
	rest   []byte

	unpacked []string // messages in MessagePack that have come with others
}

// dial opens a WebSocket without shaking hands.
func (r *rig) dial(url string) *peer {
	r.t.Helper()
	socket, _, err := websocket.Dial(r.t.Context(), url, &websocket.DialOptions{HTTPClient: r.client})
	require.NoError(r.t, err)
	socket.SetReadLimit(-1)
	r.t.Cleanup(func() { _ = socket.CloseNow() })
	return &peer{t: r.t, socket: socket, leave: func() { _ = socket.CloseNow() }}
}

// socket returns a connected client with a WebSocket.
func (r *rig) socket() *peer {
	r.t.Helper()
	p := r.dial(url)
	p.send(hello)
	require.Equal(r.t, `{}`, p.next())
	return p
}

// events opens a stream of server-sent events without shaking hands.
func (r *rig) events(url string) *peer {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	require.NoError(r.t, err)
	req.Header.Set("Accept", "text/event-stream")
	res, err := r.client.Do(req)
	require.NoError(r.t, err)
	require.Equal(r.t, 200, res.StatusCode)
	require.Equal(r.t, "text/event-stream", res.Header.Get("Content-Type"))
	leave := func() {
		cancel()
		_ = res.Body.Close()
	}
	r.t.Cleanup(leave)
	return &peer{t: r.t, events: bufio.NewReader(res.Body), leave: leave}
}

// stream returns a connected client with server-sent events, and its address.
func (r *rig) stream() (p *peer, url string) {
	r.t.Helper()
	url = r.negotiate()
	p = r.events(url)
	status, _ := r.do("POST", url, hello)
	require.Equal(r.t, 200, status)
	require.Equal(r.t, `{}`, p.next())
	return p, url
}

// poller returns the address of a connected client that polls.
func (r *rig) poller() (url string) {
	r.t.Helper()
	url = r.negotiate()
	status, body := r.do("GET", url, "")
	require.Equal(r.t, 200, status)
	require.Empty(r.t, body)
	status, _ = r.do("POST", url, hello)
	require.Equal(r.t, 200, status)
	status, body = r.do("GET", url, "")
	require.Equal(r.t, 200, status)
	require.Equal(r.t, "{}\x1e", body)
	return url
}

func (p *peer) send(data string) {
	p.t.Helper()
	require.NoError(p.t, p.socket.Write(p.t.Context(), websocket.MessageText, []byte(data)))
}

func (p *peer) sendPacked(data string) {
	p.t.Helper()
	require.NoError(p.t, p.socket.Write(p.t.Context(), websocket.MessageBinary, []byte(data)))
}

// read returns the next message, or the error that ends the connection.
func (p *peer) read() (string, error) {
	for {
		if record, rest, whole := bytes.Cut(p.rest, []byte{0x1e}); whole {
			p.rest = rest
			return string(record), nil
		}
		data, err := p.receive()
		if err != nil {
			return "", err
		}
		p.rest = append(p.rest, data...)
	}
}

func (p *peer) receive() ([]byte, error) {
	if p.socket != nil {
		_, data, err := p.socket.Read(p.t.Context())
		return data, err
	}
	line, err := p.events.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	_, data, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("data: "))
	return data, nil
}

func (p *peer) next() string {
	p.t.Helper()
	record, err := p.read()
	require.NoError(p.t, err)
	return record
}

// ended requires that nothing more comes.
func (p *peer) ended() {
	p.t.Helper()
	record, err := p.read()
	require.Error(p.t, err, record)
}

func call(arguments string) string {
	return `{"type":1,"target":"ReceiveAlarm","arguments":[` + arguments + `]}`
}
