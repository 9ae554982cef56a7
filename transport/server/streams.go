package server

import (
	"context"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
)

// maxStreamsPerConn is how many calls one gRPC connection may have open.
const maxStreamsPerConn = 256

var errTooManyStreams = fault.New(fault.TooMany, "TOO_MANY_STREAMS", "too many open streams of one caller")

// streams counts the open streams of each caller, gRPC and server-sent events together.
type streams struct {
	most int

	mu   sync.Mutex
	open map[string]int // by caller; none with 0
}

// enter admits a stream of the caller, or gives an errTooManyStreams. Each stream that is admitted
// leaves once.
func (s *streams) enter(ctx context.Context) (leave func(), err error) {
	who := streamOwner(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= s.most {
		return nil, errTooManyStreams
	}
	s.open[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[who]--; s.open[who] == 0 {
			delete(s.open, who)
		}
	}, nil
}

// streamOwner says whose a stream is: a principal's, or a host's where nobody is known.
func streamOwner(ctx context.Context) string {
	if p, ok := auth.From(ctx); ok {
		return "principal " + p.Issuer + " " + p.Subject
	}
	address, _ := ctx.Value(remoteKey{}).(string)
	if p, ok := peer.FromContext(ctx); ok {
		address = p.Addr.String()
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return "host " + address
}

type remoteKey struct{}

// noteRemote keeps the client's address for streamOwner.
func noteRemote(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), remoteKey{}, r.RemoteAddr)))
	})
}

// limitStream is the gRPC interceptor that counts streams. It comes after the guard.
func (s *Server) limitStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	leave, err := s.streams.enter(stream.Context())
	if err != nil {
		return err
	}
	defer leave()
	return handler(srv, stream)
}
