package middlewaregrpc_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/middleware/middlewaregrpc"
	"github.com/otkit/otkit/transport/oneport"
)

type tag struct {
	Name        string             `json:"name"`
	Driver      string             `json:"driver"`
	LastUpdated time.Time          `json:"lastUpdated"`
	Value       map[string]float64 `json:"currentValue"`
}

// BenchmarkStackREST compares a bare chi handler with the same handler behind every layer, metrics
// and the shared port, over loopback connections.
func BenchmarkStackREST(b *testing.B) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, _ := json.Marshal(tag{chi.URLParam(r, "name"), "sim", time.Unix(1e9, 0), map[string]float64{"doubleValue": 21.5}})
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
	bare := chi.NewRouter()
	bare.Get("/api/v1/tags/{name}", handler)

	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	full := chi.NewRouter()
	full.Use(middleware.Trace(middleware.TraceOptions{Logger: log}), metrics.New(metrics.Options{}).HTTP, middleware.AccessLog(log),
		middleware.Recover, middleware.SecurityHeaders, middleware.EscapedPath)
	middleware.Fallbacks(full)
	maxBody, err := middleware.MaxBody(0)
	require.NoError(b, err)
	full.Use(maxBody, middleware.JSONBody(nil))
	full.Get("/api/v1/tags/{name}", handler)

	b.Run("bare", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		benchREST(b, &http.Server{Handler: bare}, l)
	})
	b.Run("full", func(b *testing.B) {
		server, err := middleware.NewServer(full, middleware.ServerOptions{})
		require.NoError(b, err)
		benchREST(b, server, port(b).HTTP())
	})
}

func port(b *testing.B) *oneport.Port {
	p, err := oneport.Listen(oneport.Options{Addr: "127.0.0.1:0"})
	require.NoError(b, err)
	done := make(chan error, 1)
	go func() { done <- p.Serve(context.Background()) }()
	b.Cleanup(func() {
		_ = p.Close()
		require.NoError(b, <-done)
	})
	return p
}

func benchREST(b *testing.B, server *http.Server, l net.Listener) {
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	url := "http://" + l.Addr().String() + "/api/v1/tags/sim.temperature"
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Get(url)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

// BenchmarkStackGRPC compares a bare gRPC server with one behind the interceptors and the shared port.
func BenchmarkStackGRPC(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		benchGRPC(b, grpc.NewServer(), l)
	})
	b.Run("full", func(b *testing.B) {
		m := metrics.New(metrics.Options{})
		benchGRPC(b, grpc.NewServer(grpc.Creds(oneport.Credentials()),
			grpc.ChainUnaryInterceptor(m.Unary, middlewaregrpc.UnaryErrors(middleware.TraceOptions{}))), port(b).GRPC())
	})
}

func benchGRPC(b *testing.B, server *grpc.Server, l net.Listener) {
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	defer func() { _ = conn.Close() }()
	client := grpc_health_v1.NewHealthClient(conn)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
