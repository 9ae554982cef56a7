package oneport

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// BenchmarkGRPC compares calls through a Port with calls to a gRPC server on a listener of its own:
// 32 callers on one connection.
func BenchmarkGRPC(b *testing.B) {
	run := func(b *testing.B, addr string) {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(b, err)
		defer func() { _ = conn.Close() }()
		client := grpc_health_v1.NewHealthClient(conn)
		b.SetParallelism(16) // times GOMAXPROCS
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: "sim.temperature"}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		server := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(server, echo{})
		done := make(chan struct{})
		go func() { _ = server.Serve(l); close(done) }()
		defer func() { server.Stop(); <-done }()
		run(b, l.Addr().String())
	})
	b.Run("oneport", func(b *testing.B) { run(b, start(b, Options{}).Addr().String()) })
}
