package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxCode is the last of gRPC's codes.
const maxCode = codes.Unauthenticated

// grpcMethod has the series of one method at hand.
type grpcMethod struct {
	name     string
	duration prometheus.Observer
	byCode   [maxCode + 1]atomic.Pointer[prometheus.Counter]
}

// method returns a method's series. A stream has none for its duration.
func (m *Metrics) method(name string, unary bool) *grpcMethod {
	if g, ok := m.grpcMethods.Load(name); ok {
		return g.(*grpcMethod)
	}
	made := &grpcMethod{name: name}
	if unary {
		made.duration = m.grpcDuration.WithLabelValues(name)
	}
	g, _ := m.grpcMethods.LoadOrStore(name, made)
	return g.(*grpcMethod)
}

func (m *Metrics) count(g *grpcMethod, err error) {
	code := status.Code(err)
	if code > maxCode {
		code = codes.Unknown
	}
	c := g.byCode[code].Load()
	if c == nil {
		made := m.grpcRequests.WithLabelValues(g.name, code.String())
		c = &made
		g.byCode[code].Store(c)
	}
	(*c).Inc()
}

// Unary counts and times unary calls. It goes outside of the interceptor that turns errors into
// statuses.
func (m *Metrics) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	g, start := m.method(info.FullMethod, true), time.Now()
	m.grpcInFlight.Inc()
	resp, err := handler(ctx, req)
	m.grpcInFlight.Dec()
	g.duration.Observe(time.Since(start).Seconds())
	m.count(g, err)
	return resp, err
}

// Stream counts streams.
func (m *Metrics) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	m.grpcInFlight.Inc()
	err := handler(srv, stream)
	m.grpcInFlight.Dec()
	m.count(m.method(info.FullMethod, false), err)
	return err
}
