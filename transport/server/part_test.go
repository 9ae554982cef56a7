package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
)

// byHeader is a host's own login: whoever a header names, with the role of that name.
func byHeader(_ context.Context, r auth.Request) (*auth.Principal, error) {
	switch names := r.Header("X-User"); {
	case len(names) == 0:
		return nil, nil
	case names[0] == "nobody":
		return nil, auth.ErrUnauthenticated
	default:
		role, _ := accounts.ParseRole(names[0])
		return &auth.Principal{Issuer: "host", Subject: names[0], Name: "Mr. " + names[0], Role: role}, nil
	}
}

// diary notes what happens in which order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) noting(line string) func(context.Context) error {
	return func(context.Context) error { d.note(line); return nil }
}

func (d *diary) part(name string) server.Part {
	return server.Part{Name: name, Start: func() { d.note("start " + name) },
		Jobs:       []func(context.Context){func(ctx context.Context) { <-ctx.Done(); d.note("job ended") }},
		EndStreams: d.noting("streams ended"), Drain: d.noting("drain " + name), Close: d.noting("close " + name)}
}

// A server answers the requests in progress while streams end, waits for the jobs, lets each part hand its work on to
// the later ones, and only then closes them, the users before what they use.
func TestPartsStopInTheOrderThatLosesNothing(t *testing.T) {
	t.Parallel()
	var d diary
	began, finish := make(chan struct{}), make(chan struct{})
	slow := server.Part{Name: "slow",
		Operations: []auth.Operation{{ID: "slow", Method: http.MethodGet, Path: "/slow", Access: auth.Open}},
		Routes: func(r server.Router) error {
			r.Get("/slow", func(w http.ResponseWriter, _ *http.Request) {
				close(began)
				<-finish
				d.note("request answered")
				_, _ = w.Write([]byte("whole"))
			})
			return nil
		},
		EndStreams: func(context.Context) error { close(finish); return nil }}
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), Listen: "127.0.0.1:0"},
		d.part("producer"), d.part("consumer"), slow)
	require.NoError(t, err)
	s.Start()
	s.Start() // counts once
	answered := make(chan int, 1)
	go func() {
		resp, err := http.Get("http://" + s.Addr().String() + "/slow")
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Close(ctx))
	require.NoError(t, s.Close(ctx), "twice")
	require.Equal(t, http.StatusOK, <-answered)

	require.Equal(t, []string{"start producer", "start consumer"}, d.lines[:2])
	stopped := d.lines[2:]
	require.ElementsMatch(t, []string{"job ended", "job ended", "streams ended", "streams ended", "request answered"}, stopped[:5])
	require.Equal(t, []string{"drain producer", "drain consumer", "close consumer", "close producer"}, stopped[5:])
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestAFailingPartStopsNoOther(t *testing.T) {
	t.Parallel()
	var d diary
	bad := d.part("bad")
	bad.Drain = func(context.Context) error { return errors.New("disk full") }
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)}, bad, d.part("good"))
	require.NoError(t, err)
	err = s.Close(t.Context())
	require.EqualError(t, err, "bad: drain: disk full")
	require.Equal(t, err, s.Close(t.Context()))
	require.Equal(t, []string{"drain good", "close good", "close bad"}, d.lines[2:])
}

// New owns the parts, so a server that cannot be made closes them.
func TestNewNamesWhatIsWrongWithAPart(t *testing.T) {
	t.Parallel()
	op := auth.Operation{ID: "x", Method: http.MethodGet, Path: "/x", Access: auth.Open}
	mount := func(r server.Router) error { r.Get("/x", func(http.ResponseWriter, *http.Request) {}); return nil }
	for _, c := range []struct {
		name, says string
		o          server.Options
		parts      []server.Part
	}{
		{"no authenticator", "Options.Authenticator is required", server.Options{}, nil},
		{"negative connections", "Options.MaxConns", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), MaxConns: -1}, nil},
		{"negative streams", "Options.MaxStreams", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), MaxStreams: -1}, nil},
		{"route without an operation", "GET /x has no row", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)}, []server.Part{{Name: "a", Routes: mount}}},
		{"operation twice", `part "b": operation "x": the ID is used by part "a"`, server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "a", Operations: []auth.Operation{op}, Routes: mount}, {Name: "b", Operations: []auth.Operation{op}}}},
		{"route of another part", `part "b": operation "y": GET /health is already an operation of part "server"`, server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "b", Operations: []auth.Operation{{ID: "y", Method: http.MethodGet, Path: "/health", Access: auth.Viewer}}}}},
		{"no ID", `part "b": operation GET /p: ID is required`, server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "b", Operations: []auth.Operation{{Method: http.MethodGet, Path: "/p", Access: auth.Viewer}}}}},
		{"operation without a route", `part "a": operation "x" has no route GET /x`, server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "a", Operations: []auth.Operation{op}}}},
		{"operation without a gRPC method", `part "a": operation "z": no gRPC service has the method /a.B/C`, server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "a", Operations: []auth.Operation{{ID: "z", Access: auth.Viewer, GRPC: []string{"/a.B/C"}}}}}},
		{"routes fail", "a: no", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)}, []server.Part{{Name: "a", Routes: func(server.Router) error { return errors.New("no") }}}},
		{"gRPC method without an operation", "/test.Echo/Say has no row", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "a", GRPC: func(r grpc.ServiceRegistrar) error { r.RegisterService(&echoService, echoer{}); return nil }}}},
		{"gRPC method twice", "registered twice", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{echoPart("a"), {Name: "b", GRPC: echoPart("b").GRPC}}},
		{"no implementation", "does not implement", server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)},
			[]server.Part{{Name: "a", GRPC: func(r grpc.ServiceRegistrar) error { r.RegisterService(&echoService, "none"); return nil }}}},
	} {
		var d diary
		s, err := server.New(t.Context(), c.o, append(slices.Clone(c.parts), d.part("last"))...)
		require.ErrorContains(t, err, c.says, c.name)
		require.Nil(t, s, c.name)
		require.Contains(t, d.lines, "close last", c.name)
	}
}

// An absent part has no routes: what it would serve is not found, and not "not implemented".
func TestAnAbsentPartHasNoRoutes(t *testing.T) {
	t.Parallel()
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/tags", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
}

func TestEveryLogsAndGoesOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan struct{})
	log, out := logTo(t)
	done := make(chan struct{})
	go func() {
		server.Every(time.Millisecond, log, "failed to sweep", func(context.Context) error {
			calls <- struct{}{}
			return errors.New("no broom")
		})(ctx)
		close(done)
	}()
	for range 3 {
		<-calls
	}
	cancel()
	for { // one call may be under way
		select {
		case <-calls:
			continue
		case <-done:
		}
		break
	}
	require.Contains(t, out.String(), `level=ERROR msg="failed to sweep" error="no broom"`)
}

func TestNothingStartsAfterClose(t *testing.T) {
	t.Parallel()
	var d diary
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)}, server.Part{Name: "late", Start: func() { d.note("start") }})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, s.Serve(l))
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, d.lines)
}

// A part that fails to end its streams is closed all the same when the options are wrong.
func TestNewClosesPartsOfWrongOptions(t *testing.T) {
	t.Parallel()
	var d diary
	_, err := server.New(t.Context(), server.Options{}, server.Part{Name: "p",
		EndStreams: func(context.Context) error { return errors.New("broken") }, Close: d.noting("close p")})
	require.ErrorContains(t, err, "Authenticator")
	require.Equal(t, []string{"close p"}, d.lines)
}
