package server

import (
	"context"
	"net/http"
	"sync"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/fault"
)

// errStopping ends streams when the server stops; clients that get it may try another server.
var errStopping = fault.New(fault.Unavailable, "SERVER_STOPPING", "the server is stopping")

// inflight counts the calls that come through an embedder's own servers, which Close waits for.
type inflight struct {
	mu     sync.Mutex
	open   int
	ending bool
	done   chan struct{} // closed when ending and none is open
}

func newInflight() *inflight { return &inflight{done: make(chan struct{})} }

// enter reports whether a call may begin. One that may leaves once.
func (f *inflight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return false
	}
	f.open++
	return true
}

func (f *inflight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open--; f.open == 0 && f.ending {
		close(f.done)
	}
}

// end lets no more calls begin and waits for those that have, until ctx ends.
func (f *inflight) end(ctx context.Context) error {
	f.mu.Lock()
	if !f.ending {
		f.ending = true
		if f.open == 0 {
			close(f.done)
		}
	}
	f.mu.Unlock()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *inflight) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.enter() {
			refuse(w, r, errStopping)
			return
		}
		defer f.leave()
		next.ServeHTTP(w, r)
	})
}

func (f *inflight) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !f.enter() {
		return nil, errStopping
	}
	defer f.leave()
	return handler(ctx, req)
}

func (f *inflight) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !f.enter() {
		return errStopping
	}
	defer f.leave()
	return handler(srv, stream)
}
