package tracing

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// sink is an OTLP collector over both protocols that keeps what it gets.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return &collector.ExportTraceServiceResponse{}, nil
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req collector.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = s.Export(r.Context(), &req)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// spans returns the spans by name, and the resource's attributes.
func (s *sink) spans() (spans map[string]*otlp.Span, resource map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spans, resource = map[string]*otlp.Span{}, map[string]string{}
	for _, r := range s.requests {
		for _, rs := range r.GetResourceSpans() {
			for _, a := range rs.GetResource().GetAttributes() {
				resource[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, ss := range rs.GetScopeSpans() {
				for _, span := range ss.GetSpans() {
					spans[span.GetName()] = span
				}
			}
		}
	}
	return spans, resource
}

func (s *sink) overHTTP(t *testing.T) string {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func (s *sink) overGRPC(t *testing.T) string {
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	return "http://" + serveGRPC(t, server)
}

func serveGRPC(t *testing.T, server *grpc.Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { _ = server.Serve(l); close(done) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return l.Addr().String()
}

func TestSpansReachTheCollector(t *testing.T) {
	for _, protocol := range []Protocol{HTTP, GRPC, ""} {
		t.Run(string(protocol), func(t *testing.T) {
			s := &sink{}
			endpoint := s.overHTTP
			if protocol == GRPC {
				endpoint = s.overGRPC
			}
			provider, shutdown, err := Start(t.Context(), Options{Endpoint: endpoint(t), Protocol: protocol, Version: "1.2.3"})
			require.NoError(t, err)
			_, span := provider.Tracer("test").Start(t.Context(), "work")
			span.End()
			require.NoError(t, shutdown(t.Context()))
			spans, resource := s.spans()
			require.Contains(t, spans, "work")
			require.Equal(t, map[string]string{"service.name": "otkit", "service.version": "1.2.3"}, resource)
		})
	}
}

func TestHTTPRequestsHaveSpans(t *testing.T) {
	s := &sink{}
	provider, shutdown, err := Start(t.Context(), Options{Endpoint: s.overHTTP(t)})
	require.NoError(t, err)
	router := chi.NewRouter()
	router.Use(HTTPMiddleware(provider), middleware.Trace(middleware.TraceOptions{}), middleware.Recover)
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, inner := provider.Tracer("test").Start(r.Context(), "inner")
		inner.End()
		require.Equal(t, traceID, problem.TraceID(r.Context()), "log lines and spans have the same id")
		w.(http.Flusher).Flush()
	}
	router.Get("/api/v1/tags/{name}", handler)
	router.Get("/health/live", func(http.ResponseWriter, *http.Request) {})
	for _, path := range []string{"/api/v1/tags/sim.speed?access_token=SECRET", "/health/live"} {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("traceparent", traceparent)
		r.Header.Set("Authorization", "Bearer SECRET")
		router.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.NoError(t, shutdown(t.Context()))
	spans, _ := s.spans()
	require.Len(t, spans, 2, "probes have no span")
	request, inner := spans["GET /api/v1/tags/{name}"], spans["inner"]
	require.NotNil(t, request)
	require.Equal(t, traceID, trace.TraceID(request.GetTraceId()).String())
	require.Equal(t, "00f067aa0ba902b7", trace.SpanID(request.GetParentSpanId()).String())
	require.Equal(t, request.GetSpanId(), inner.GetParentSpanId())
	require.NotContains(t, request.String(), "SECRET")
	require.Contains(t, request.String(), "http.route")
}

func TestGRPCCallsHaveSpans(t *testing.T) {
	s := &sink{}
	provider, shutdown, err := Start(t.Context(), Options{Endpoint: s.overHTTP(t)})
	require.NoError(t, err)
	server := grpc.NewServer(ServerOption(provider))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	conn, err := grpc.NewClient(serveGRPC(t, server), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, conn.Close())
	server.GracefulStop()
	require.NoError(t, shutdown(t.Context()))
	spans, _ := s.spans()
	require.Len(t, spans, 1)
	require.Contains(t, spans, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
}

func TestSampling(t *testing.T) {
	s := &sink{}
	provider, shutdown, err := Start(t.Context(), Options{Endpoint: s.overHTTP(t), SampleRatio: 1e-18})
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), "new")
	require.False(t, span.IsRecording())
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
	_, span = provider.Tracer("test").Start(trace.ContextWithRemoteSpanContext(t.Context(), parent), "called")
	require.True(t, span.IsRecording(), "the caller decided")
	require.NoError(t, shutdown(t.Context()))
}

func TestNoEndpointCostsNothing(t *testing.T) {
	provider, shutdown, err := Start(t.Context(), Options{SampleRatio: 7, Protocol: "ignored"})
	require.NoError(t, err)
	require.IsType(t, noop.TracerProvider{}, provider)
	require.NoError(t, shutdown(t.Context()))
	next := &sink{} // any handler that can be compared
	for _, p := range []trace.TracerProvider{provider, nil} {
		require.Same(t, next, HTTPMiddleware(p)(next))
		require.Equal(t, grpc.EmptyServerOption{}, ServerOption(p))
	}
}

func TestLostSpansAreLogged(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refusing.Close()
	var log bytes.Buffer
	provider, shutdown, err := Start(t.Context(), Options{Endpoint: refusing.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), "work")
	span.End()
	require.NoError(t, shutdown(t.Context()))
	require.Contains(t, log.String(), "spans could not be sent")
}

func TestShutdownEndsWithoutACollector(t *testing.T) {
	provider, shutdown, err := Start(t.Context(), Options{Endpoint: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), "work")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_ = shutdown(ctx) // says whether the spans went out; here only that it returns
	require.Less(t, time.Since(start), 20*time.Second)
}

func TestBadOptions(t *testing.T) {
	const good = "http://localhost:4318"
	for field, all := range map[string][]Options{
		"Endpoint":    {{Endpoint: "localhost:4318"}, {Endpoint: "ftp://x"}, {Endpoint: "http://"}, {Endpoint: "http://user:SECRET@x"}, {Endpoint: "://"}},
		"Protocol":    {{Endpoint: good, Protocol: "udp"}},
		"SampleRatio": {{Endpoint: good, SampleRatio: -0.1}, {Endpoint: good, SampleRatio: 1.1}, {Endpoint: good, SampleRatio: math.NaN()}},
	} {
		for _, o := range all {
			_, _, err := Start(t.Context(), o)
			require.ErrorContains(t, err, field)
			require.NotContains(t, err.Error(), "SECRET")
		}
	}
}

func TestTraceID(t *testing.T) {
	require.Empty(t, TraceID(t.Context()))
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	require.Equal(t, "01000000000000000000000000000000", TraceID(trace.ContextWithSpanContext(t.Context(), span)))
}
