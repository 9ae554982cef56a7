package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/remote"
)

// maxStreamsPerConn is how many calls one gRPC connection may have open.
const maxStreamsPerConn = 256

var errTooManyStreams = fault.New(fault.TooMany, "TOO_MANY_STREAMS", "too many open streams of one caller")

// streams counts the open streams of each caller, gRPC and server-sent events together.
type streams struct {
	most  int
	apart map[string]int // gRPC methods that are counted apart, with their limits

	mu   sync.Mutex
	open map[string]int // by caller; none with 0
}

func newStreams(most int, operations []auth.Operation) *streams {
	s := &streams{most: most, apart: make(map[string]int), open: make(map[string]int)}
	for _, op := range operations {
		if op.MaxStreams > 0 {
			for _, method := range op.GRPC {
				s.apart[method] = op.MaxStreams
			}
		}
	}
	return s
}

// enter admits a stream of the caller, or returns an errTooManyStreams. Each stream that is admitted
// leaves once. method is that of gRPC, empty for HTTP.
func (s *streams) enter(ctx context.Context, method string) (leave func(), err error) {
	who, most := streamOwner(ctx), s.most
	if limit := s.apart[method]; limit > 0 {
		who, most = who+" "+method, limit
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= most {
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

// streamOwner returns the owner of a stream: the principal, or the host if the caller is anonymous.
func streamOwner(ctx context.Context) string {
	if p, ok := auth.From(ctx); ok {
		return "principal " + p.Issuer + " " + p.Subject
	}
	from, _ := remote.From(ctx)
	return "host " + from.Host()
}

// limitStream is the gRPC interceptor that counts streams. It comes after the guard.
func (s *Server) limitStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	leave, err := s.streams.enter(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	defer leave()
	return handler(srv, stream)
}
