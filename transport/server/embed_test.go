package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/server"
)

// logTo returns a logger and what it has written.
func logTo(t testing.TB) (*slog.Logger, *lockedBuffer) {
	t.Helper()
	out := &lockedBuffer{}
	return slog.New(slog.NewTextHandler(out, nil)), out
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// echoServer is a gRPC service of a host.
type echoServer interface {
	Say(ctx context.Context, r *wrapperspb.StringValue) (*wrapperspb.StringValue, error)
}

type echoer struct{}

var errSilent = fault.New(fault.Conflict, "ECHO_SILENT", "there is no echo here")

// Say returns who says what.
func (echoer) Say(ctx context.Context, r *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	switch r.GetValue() {
	case "silence":
		return nil, errSilent
	case "panic":
		panic("SECRET")
	}
	return wrapperspb.String(auth.NameOf(ctx) + ": " + r.GetValue()), nil
}

var echoService = grpc.ServiceDesc{ServiceName: "test.Echo", HandlerType: (*echoServer)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.StringValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		handler := func(ctx context.Context, req any) (any, error) {
			return srv.(echoServer).Say(ctx, req.(*wrapperspb.StringValue))
		}
		if interceptor == nil {
			return handler(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/test.Echo/Say"}, handler)
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Wait", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		if err := s.SendHeader(metadata.MD{}); err != nil {
			return err
		}
		<-s.Context().Done()
		return context.Cause(s.Context())
	}}}}

// echoPart is a host's own part: a route and a gRPC service.
func echoPart(name string) server.Part {
	return server.Part{Name: name,
		Operations: []auth.Operation{
			{ID: name + "Say", Method: http.MethodPost, Path: "/host/" + name, Access: auth.Operator, GRPC: []string{"/test.Echo/Say"}},
			{ID: name + "Wait", Access: auth.Viewer, Unaudited: "changes nothing", GRPC: []string{"/test.Echo/Wait"}},
			{ID: name + "Stream", Method: http.MethodGet, Path: "/host/" + name + "/stream", Access: auth.Viewer, Stream: true},
		},
		Routes: func(r server.Router) error {
			r.Post("/host/"+name, func(w http.ResponseWriter, r *http.Request) {
				var in struct{ Text string }
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					problem.Write(w, r, problem.FromDecode(err), problem.Problem)
					return
				}
				switch in.Text {
				case "silence":
					problem.Write(w, r, errSilent, problem.Problem)
				case "panic":
					panic("SECRET")
				default:
					_, _ = io.WriteString(w, auth.NameOf(r.Context())+": "+in.Text)
				}
			})
			r.Get("/host/"+name+"/stream", func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			return nil
		},
		GRPC: func(r grpc.ServiceRegistrar) error { r.RegisterService(&echoService, echoer{}); return nil },
	}
}

// hosted is an engine with a host's own part and login.
func hosted(t *testing.T, change ...func(*engine.Options)) *engine.Engine {
	t.Helper()
	o := engine.Options{DataDir: t.TempDir(), WithoutAccounts: true, Parts: []server.Part{echoPart("echo")},
		Server: server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), MaxBodyBytes: 1000}}
	for _, c := range change {
		c(&o)
	}
	e, err := engine.New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, e.Close(ctx))
	})
	e.Start()
	return e
}

// say posts to the host's own route.
func say(t *testing.T, base, user, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/host/echo", strings.NewReader(body))
	require.NoError(t, err)
	if user != "" {
		r.Header.Set("X-User", user)
	}
	return roundTrip(t, r)
}

func roundTrip(t *testing.T, r *http.Request) answer {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{resp.StatusCode, resp.Header, body}
}

// An own route has the guard, the limits, the errors and the metrics of ours, mounted in the http.Server of a host.
func TestAnOwnRouteIsTreatedAsOurs(t *testing.T) {
	t.Parallel()
	log, out := logTo(t)
	e := hosted(t, func(o *engine.Options) {
		o.Server.Access.RequestsPerPrincipal, o.Server.Logger, o.Server.AccessLog = 2, log, true // a burst of 20
	})
	host := httptest.NewServer(e.Handler())
	defer host.Close()

	requireProblem(t, say(t, host.URL, "", `{"Text":"hi"}`), http.StatusUnauthorized, "UNAUTHORIZED")
	requireProblem(t, say(t, host.URL, "nobody", `{"Text":"hi"}`), http.StatusUnauthorized, "UNAUTHORIZED")
	requireProblem(t, say(t, host.URL, "Viewer", `{"Text":"hi"}`), http.StatusForbidden, "FORBIDDEN")
	requireProblem(t, say(t, host.URL, "Operator", `{"Text":`), http.StatusBadRequest, "INVALID_REQUEST")
	requireProblem(t, say(t, host.URL, "Operator", `{"Text":"`+strings.Repeat("x", 1000)+`"}`), http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
	requireProblem(t, say(t, host.URL, "Operator", `{"Text":"silence"}`), http.StatusConflict, "ECHO_SILENT")
	broken := say(t, host.URL, "Operator", `{"Text":"panic"}`)
	requireProblem(t, broken, http.StatusInternalServerError, "INTERNAL_ERROR")
	require.NotContains(t, string(broken.body), "SECRET")
	fine := say(t, host.URL, "Operator", `{"Text":"hi"}`)
	require.Equal(t, http.StatusOK, fine.status)
	require.Equal(t, "Mr. Operator: hi", string(fine.body))
	var last answer
	for range 30 {
		if last = say(t, host.URL, "Operator", `{"Text":"hi"}`); last.status != http.StatusOK {
			break
		}
	}
	requireProblem(t, last, http.StatusTooManyRequests, "RATE_LIMITED")
	require.Equal(t, "1", last.header.Get("Retry-After"))

	// The server's own routes have the host's login too, and those of the accounts are absent.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host.URL+"/api/v1/tags", nil)
	require.NoError(t, err)
	r.Header.Set("X-User", "Viewer")
	require.Equal(t, http.StatusOK, roundTrip(t, r).status)
	r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, host.URL+"/api/v1/auth/login", nil)
	require.NoError(t, err)
	requireProblem(t, roundTrip(t, r), http.StatusNotFound, "NOT_FOUND")

	r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, host.URL+"/metrics", nil)
	require.NoError(t, err)
	require.Contains(t, string(roundTrip(t, r).body), `otkit_http_requests_total{method="POST",route="/host/echo",status="2xx"}`)
	require.Contains(t, out.String(), `path=/host/echo status=409`)
	require.Contains(t, out.String(), `subject="Mr. Operator"`)
}

// dial connects by gRPC as a user.
func dial(t *testing.T, addr, user string) (*grpc.ClientConn, context.Context) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx := t.Context()
	if user != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-user", user)
	}
	return conn, ctx
}

func sayGRPC(t *testing.T, addr, user, text string) (string, error) {
	t.Helper()
	conn, ctx := dial(t, addr, user)
	out := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, "/test.Echo/Say", wrapperspb.String(text), out)
	return out.GetValue(), err
}

// So has an own gRPC service, on a grpc.Server of the host whose interceptors stay outside, and on our port.
func TestAnOwnServiceIsTreatedAsOurs(t *testing.T) {
	t.Parallel()
	e := hosted(t, func(o *engine.Options) { o.Server.Access.RequestsPerPrincipal = 1 }) // a burst of 10
	var passed int
	own := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		passed++
		return handler(ctx, req)
	}))
	e.RegisterGRPC(own)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = own.Serve(l) })
	defer wg.Wait()
	defer own.Stop()

	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	wg.Go(func() { _ = e.Serve(port) })
	defer func() { require.NoError(t, e.Close(context.Background())) }()

	for _, addr := range []string{l.Addr().String(), port.Addr().String()} {
		_, err := sayGRPC(t, addr, "", "hi")
		requireStatus(t, err, codes.Unauthenticated, "UNAUTHORIZED")
		_, err = sayGRPC(t, addr, "Viewer", "hi")
		requireStatus(t, err, codes.PermissionDenied, "FORBIDDEN")
		_, err = sayGRPC(t, addr, "Admin", "silence")
		requireStatus(t, err, codes.FailedPrecondition, "ECHO_SILENT")
		_, err = sayGRPC(t, addr, "Admin", "panic")
		requireStatus(t, err, codes.Internal, "INTERNAL_ERROR")
		require.NotContains(t, err.Error(), "SECRET")
		text, err := sayGRPC(t, addr, "Admin", "hi")
		require.NoError(t, err)
		require.Equal(t, "Mr. Admin: hi", text)
	}
	require.Equal(t, 5, passed)
	for err == nil {
		_, err = sayGRPC(t, l.Addr().String(), "Operator", "hi")
	}
	requireStatus(t, err, codes.ResourceExhausted, "RATE_LIMITED")
	// The same port serves HTTP.
	require.Equal(t, http.StatusOK, say(t, "http://"+port.Addr().String(), "Admin", `{"Text":"hi"}`).status)
}

// Close ends streams that come through a host's servers, waits for calls, and refuses later ones.
func TestCloseEndsWhatComesThroughAHost(t *testing.T) {
	t.Parallel()
	e := hosted(t)
	host := httptest.NewServer(e.Handler())
	defer host.Close()
	own := grpc.NewServer()
	e.RegisterGRPC(own)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = own.Serve(l) })
	defer wg.Wait()
	defer own.Stop()

	conn, ctx := dial(t, l.Addr().String(), "Viewer")
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/test.Echo/Wait")
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	_, err = stream.Header()
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host.URL+"/host/echo/stream", nil)
	require.NoError(t, err)
	r.Header.Set("X-User", "Viewer")
	open, err := host.Client().Do(r)
	require.NoError(t, err)

	stop, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	require.NoError(t, e.Close(stop))
	require.Less(t, time.Since(began), patience/2)
	_, err = io.ReadAll(open.Body)
	require.NoError(t, err)
	require.NoError(t, open.Body.Close())
	requireStatus(t, stream.RecvMsg(new(wrapperspb.StringValue)), codes.Unavailable, "SERVER_STOPPING")
	requireProblem(t, say(t, host.URL, "Admin", `{"Text":"hi"}`), http.StatusServiceUnavailable, "SERVER_STOPPING")
	_, err = sayGRPC(t, l.Addr().String(), "Admin", "hi")
	requireStatus(t, err, codes.Unavailable, "SERVER_STOPPING")
}

// The host's login serves the hubs, and what its middleware has put into the context of a request counts.
func TestTheAuthenticatorServesHubs(t *testing.T) {
	t.Parallel()
	type userKey struct{}
	byContext := auth.AuthenticatorFunc(func(ctx context.Context, r auth.Request) (*auth.Principal, error) {
		if user, ok := ctx.Value(userKey{}).(string); ok {
			return byHeader(ctx, header{user})
		}
		return nil, nil
	})
	e := hosted(t, func(o *engine.Options) { o.Server.Authenticator = byContext })
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			r = r.WithContext(context.WithValue(r.Context(), userKey{}, cookie.Value))
		}
		e.Handler().ServeHTTP(w, r)
	}))
	defer host.Close()
	for user, status := range map[string]int{"": http.StatusUnauthorized, "nobody": http.StatusUnauthorized, "Stranger": http.StatusForbidden, "Viewer": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, host.URL+"/hubs/alarms/negotiate?negotiateVersion=1", nil)
		require.NoError(t, err)
		if user != "" {
			r.AddCookie(&http.Cookie{Name: "session", Value: user})
		}
		a := roundTrip(t, r)
		require.Equal(t, status, a.status, "%s: %s", user, a.body)
		if status == http.StatusOK {
			require.Contains(t, string(a.body), "connectionToken")
		}
	}
}

// header is a request of which only the user is known.
type header struct{ user string }

func (header) Token() (string, bool)    { return "", true }
func (h header) Header(string) []string { return []string{h.user} }

// What a stranger is told fits a host that has neither tokens nor our settings.
func TestAHostsCallersReadNoSettings(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{true, false} {
		e := hosted(t, func(o *engine.Options) { o.Server.Access.ProtectOpenSurfaces = protected })
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.RemoteAddr = "203.0.113.7:1"
		e.Handler().ServeHTTP(w, r)
		require.Equal(t, http.StatusUnauthorized, w.Code)
		require.Contains(t, w.Body.String(), `"not logged in, or the credentials are not valid: a login is required here"`)
		require.NotContains(t, w.Body.String(), "__")
		require.NoError(t, e.Close(t.Context()))
	}
}

// Principals without a Subject would share one limit.
func TestAPrincipalNeedsASubject(t *testing.T) {
	t.Parallel()
	log, out := logTo(t)
	e := hosted(t, func(o *engine.Options) {
		o.Server.Logger = log
		o.Server.Authenticator = auth.AuthenticatorFunc(func(context.Context, auth.Request) (*auth.Principal, error) {
			return &auth.Principal{Name: "Vera", Role: accounts.Admin}, nil
		})
	})
	defer func() { require.NoError(t, e.Close(t.Context())) }()
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/tags", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, out.String(), "Principal without Subject")
}
