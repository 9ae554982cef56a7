package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/server"
)

// robots is a part with routes that overlap those of others: a name that others use, a path below which all belongs to a handler,
// a path that both know with different methods.
func robots() server.Part {
	answer := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "robots "+chi.URLParam(r, "id"))
	}
	return server.Part{Name: "robots",
		Operations: []auth.Operation{
			{ID: "getRobot", Method: http.MethodGet, Path: "/robots/{id}", Access: auth.Viewer},
			{ID: "stopRobot", Method: http.MethodPost, Path: "/robots/{id}", Access: auth.Operator},
			{ID: "getShared", Method: http.MethodGet, Path: "/shared", Access: auth.Open},
			{ID: "getBelow", Method: http.MethodGet, Path: "/below/{name}", Access: auth.Open},
			{ID: "streamRobots", Method: http.MethodGet, Path: "/robots/stream", Access: auth.Viewer, Stream: true},
		},
		Routes: func(r server.Router) error {
			r.Route("/robots", func(r chi.Router) {
				r.Get("/{id}", answer)
				r.Post("/{id}", answer)
				r.Get("/stream", func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				})
			})
			r.Get("/shared", answer)
			r.Delegate("/below", r.Guard(auth.Operation{ID: "getBelow", Access: auth.Open}, http.HandlerFunc(answer)))
			return nil
		}}
}

// lamps is a part that its neighbour's port must not show.
func lamps() server.Part {
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "lamps") }
	return server.Part{Name: "lamps",
		Operations: []auth.Operation{
			{ID: "getLamps", Method: http.MethodGet, Path: "/robots/lamps", Access: auth.Open},
			{ID: "setShared", Method: http.MethodPut, Path: "/shared", Access: auth.Viewer},
		},
		Routes: func(r server.Router) error {
			r.Get("/robots/lamps", answer)
			r.Put("/shared", answer)
			return nil
		}}
}

// twoPorts serves the parts on a main port, and the robots on one of their own.
func twoPorts(t *testing.T, change func(*server.Options)) (s *server.Server, main, own string) {
	t.Helper()
	o := server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), Listen: "127.0.0.1:0",
		PartListeners: []server.PartListener{{Listen: "127.0.0.1:0", Parts: []string{"robots"}}}}
	if change != nil {
		change(&o)
	}
	s, err := server.New(t.Context(), o, robots(), lamps(), echoPart("echo"))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	s.Start()
	require.NotEmpty(t, s.PartAddrs())
	return s, s.Addr().String(), s.PartAddrs()[0].String()
}

func ask(t *testing.T, method, url string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return roundTrip(t, r)
}

// A port of a part has its routes, with the checks of the main port, and the probes; nothing else.
func TestAPortOfAPartServesOnlyItsRoutes(t *testing.T) {
	t.Parallel()
	log, out := logTo(t)
	_, main, own := twoPorts(t, func(o *server.Options) {
		o.Logger, o.AccessLog, o.CORSOrigins = log, true, []string{"https://hmi.example"}
	})
	for _, c := range []struct {
		method, path string
		main, own    int
	}{
		{http.MethodGet, "/robots/agv-1", 200, 200},
		{http.MethodHead, "/robots/agv-1", 200, 200},
		{http.MethodGet, "/robots/a%2Fb", 200, 200},
		{http.MethodPost, "/robots/agv-1", 403, 403}, // a Viewer's
		{http.MethodPut, "/robots/agv-1", 405, 405},
		{http.MethodGet, "/shared", 200, 200},
		{http.MethodPut, "/shared", 200, 404},
		{http.MethodGet, "/below/x", 200, 200},
		{http.MethodGet, "/below/x/y/z", 200, 200},
		{http.MethodGet, "/robots/lamps", 200, 404},
		{http.MethodPost, "/robots/lamps", 403, 403}, // the robot of that name
		{http.MethodGet, "/host/echo/stream/", 404, 404},
		{http.MethodPost, "/host/echo", 403, 404},
		{http.MethodGet, "/health/live", 200, 200},
		{http.MethodGet, "/health/ready", 200, 200},
		{http.MethodGet, "/health", 200, 404},
		{http.MethodGet, "/metrics", 200, 404},
		{http.MethodGet, "/openapi.yaml", 200, 404},
		{http.MethodGet, "/docs", 200, 404},
		{http.MethodGet, "/nowhere", 404, 404},
		{http.MethodGet, "/", 404, 404},
	} {
		require.Equal(t, c.main, ask(t, c.method, "http://"+main+c.path, "X-User", "Viewer").status, "main port %s %s", c.method, c.path)
		require.Equal(t, c.own, ask(t, c.method, "http://"+own+c.path, "X-User", "Viewer").status, "port of the part %s %s", c.method, c.path)
	}
	requireProblem(t, ask(t, http.MethodGet, "http://"+own+"/metrics"), http.StatusNotFound, "NOT_FOUND")
	requireProblem(t, ask(t, http.MethodGet, "http://"+own+"/robots/agv-1"), http.StatusUnauthorized, "UNAUTHORIZED")
	requireProblem(t, ask(t, http.MethodPost, "http://"+own+"/robots/agv-1", "X-User", "Admin", "Origin", "https://evil.example"), http.StatusForbidden, "FORBIDDEN")
	preflight := ask(t, http.MethodOptions, "http://"+own+"/robots/agv-1", "Origin", "https://hmi.example", "Access-Control-Request-Method", "POST")
	require.Equal(t, "https://hmi.example", preflight.header.Get("Access-Control-Allow-Origin"))

	require.Contains(t, out.String(), "address="+own+" tls=false")
	require.Contains(t, out.String(), "parts=robots")
	require.Contains(t, out.String(), "path=/robots/a/b status=200")
	metrics := string(ask(t, http.MethodGet, "http://"+main+"/metrics").body)
	require.Contains(t, metrics, `otkit_http_requests_total{method="GET",route="/robots/{id}",status="2xx"} 4`, "both ports count")
}

func TestAPortOfAPartHasNoGRPC(t *testing.T) {
	t.Parallel()
	_, main, own := twoPorts(t, nil)
	text, err := sayGRPC(t, main, "Operator", "hi")
	require.NoError(t, err)
	require.Equal(t, "Mr. Operator: hi", text)
	_, err = sayGRPC(t, own, "Operator", "hi")
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestAPortOfAPartHasTheSameTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trust := selfSigned(t)
	_, _, own := twoPorts(t, func(o *server.Options) {
		var err error
		o.TLS, err = oneport.Certificates(oneport.CertificateOptions{CertFile: certFile, KeyFile: keyFile})
		require.NoError(t, err)
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: trust}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + own + "/shared")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// A flood of connections to one port, however many it takes, delays nobody at the other: neither robots nor people.
func TestAFloodOnAPortTakesNoPlaceOfAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*server.Options)
		ofParts bool // the flood
		places  int
	}{
		"all of the main port":              {func(o *server.Options) { o.MaxConns = 17 }, false, 15},
		"all of the port of a part":         {func(o *server.Options) { o.MaxConns = 17 }, true, 2},
		"the least of the main port":        {func(o *server.Options) { o.MaxConns = 1 }, false, 1},
		"the least of the port of a part":   {func(o *server.Options) { o.MaxConns = 1 }, true, 1},
		"an address at the main port":       {func(o *server.Options) { o.Access.ConnsPerAddress = 3 }, false, 3},
		"an address at the port of a part":  {func(o *server.Options) { o.Access.ConnsPerAddress = 3 }, true, 3},
		"the main port, with several ports": {func(o *server.Options) { o.MaxConns = 18; o.PartListeners = slices.Repeat(o.PartListeners, 2) }, false, 14},
	} {
		t.Run(name, func(t *testing.T) {
			log, out := logTo(t)
			s, flooded, other := twoPorts(t, func(o *server.Options) { o.Logger = log; c.change(o) })
			if c.ofParts {
				flooded, other = other, flooded
			}
			held := connect(t, flooded)
			require.Equal(t, http.StatusOK, exchange(t, held, "/shared"))
			for range c.places - 1 {
				require.Equal(t, http.StatusOK, exchange(t, connect(t, flooded), "/shared"))
			}
			require.NotContains(t, out.String(), "limit of connections reached")
			waiting, answered := connect(t, flooded), make(chan int, 1)
			go func() { answered <- exchange(t, waiting, "/shared") }()
			require.Eventually(t, func() bool { return strings.Contains(out.String(), "limit of connections reached") }, patience, time.Millisecond)
			require.Contains(t, out.String(), "address="+flooded+" open="+strconv.Itoa(c.places))

			require.Equal(t, http.StatusOK, exchange(t, connect(t, other), "/shared"))
			for _, addr := range s.PartAddrs()[1:] {
				require.Equal(t, http.StatusOK, exchange(t, connect(t, addr.String()), "/shared"))
			}
			require.Equal(t, http.StatusOK, exchange(t, connect(t, flooded), "/health/live"), "the probe answers beyond the limit")
			require.Equal(t, 1, strings.Count(out.String(), "limit of connections reached"), "the other port has places")
			require.Empty(t, answered)
			require.NoError(t, held.Close())
			require.Equal(t, http.StatusOK, <-answered)
		})
	}
}

// Listeners of Serve have together as many connections as the main port alone, also when a port of parts was opened first.
func TestListenersOfServeShareThePlacesOfTheMainPort(t *testing.T) {
	t.Parallel()
	log, out := logTo(t)
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), MaxConns: 2, Logger: log,
		PartListeners: []server.PartListener{{Listen: "127.0.0.1:0", Parts: []string{"robots"}}}}, robots())
	require.NoError(t, err)
	served := make(chan error, 2)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Close(ctx))
		require.NoError(t, <-served)
		require.NoError(t, <-served)
	})
	var addrs []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addrs = append(addrs, l.Addr().String())
		go func() { served <- s.Serve(l) }()
	}
	own := connect(t, s.PartAddrs()[0].String())
	held := connect(t, addrs[0])
	require.Equal(t, http.StatusOK, exchange(t, own, "/shared"))
	require.Equal(t, http.StatusOK, exchange(t, held, "/shared"))
	waiting, answered := connect(t, addrs[1]), make(chan int, 1)
	go func() { answered <- exchange(t, waiting, "/shared") }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "limit of connections reached") }, patience, time.Millisecond)
	require.NoError(t, own.Close())
	require.Equal(t, http.StatusOK, exchange(t, connect(t, addrs[1]), "/health/live"), "the probe answers beyond the limit")
	require.Empty(t, answered)
	require.NoError(t, held.Close())
	require.Equal(t, http.StatusOK, <-answered)
}

// connect opens a connection that the test closes.
func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends one request over a connection, which stays open.
func exchange(t *testing.T, c net.Conn, path string) int {
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err != nil {
		t.Error(err)
		return 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// A stop answers what is in progress on each port, ends its streams and accepts nothing any more.
func TestAPortOfAPartStopsAsTheMainOne(t *testing.T) {
	t.Parallel()
	s, main, own := twoPorts(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+own+"/robots/stream", nil)
	require.NoError(t, err)
	r.Header.Set("X-User", "Viewer")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	open, err := transport.RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, open.StatusCode)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Close(ctx))
	_, err = io.ReadAll(open.Body)
	require.NoError(t, err, "the stream ends, it is not cut off")
	require.NoError(t, open.Body.Close())
	for _, addr := range []string{main, own} {
		_, err = net.Dial("tcp", addr)
		require.Error(t, err, addr)
	}
}

func TestNewNamesWhatIsWrongWithAPortOfAPart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	for _, c := range []struct {
		listener server.PartListener
		says     string
	}{
		{server.PartListener{Parts: []string{"robots"}}, "server: Options.PartListeners[0] needs Listen or Listener"},
		{server.PartListener{Listen: ":0"}, "server: Options.PartListeners[0].Parts is required"},
		{server.PartListener{Listen: ":0", Parts: []string{"robot"}}, `server: Options.PartListeners[0].Parts: no part has the name "robot"`},
		{server.PartListener{Listen: taken.Addr().String(), Parts: []string{"robots", "lamps"}},
			"port of robots, lamps: listen tcp " + taken.Addr().String() + ": bind: address already in use"},
	} {
		s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), Listen: "127.0.0.1:0",
			PartListeners: []server.PartListener{c.listener}}, robots(), lamps())
		require.EqualError(t, err, c.says)
		require.Nil(t, s)
	}
}
