package bus

import (
	"context"
	"sync"
	"sync/atomic"
)

// What may wait for a server. Further requests are lost.
const (
	maxRequests     = 1024
	maxRequestBytes = 32 << 20
)

// server answers the requests of a subject.
type server struct {
	lost   *atomic.Uint64
	handle func(context.Context, []byte) []byte
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended and no call runs

	mu      sync.Mutex
	running int
	waiting []request
	bytes   int // of what waits
	over    bool
}

type request struct {
	data  []byte
	reply func([]byte)
}

func newServer(lost *atomic.Uint64, handle func(context.Context, []byte) []byte) *server {
	s := &server{lost: lost, handle: handle, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// request has a request answered and reports whether the server has not ended.
func (s *server) request(r request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return false
	case s.running < MaxServing:
		s.running++
		go s.work(r)
	case len(s.waiting) == maxRequests || s.bytes+len(r.data) > maxRequestBytes:
		s.lost.Add(1)
	default:
		s.waiting = append(s.waiting, r)
		s.bytes += len(r.data)
	}
	return true
}

// work answers a request, and then others that wait.
func (s *server) work(r request) {
	for more := true; more; r, more = s.next() {
		if answer := s.handle(s.ctx, r.data); len(answer) <= MaxMessage {
			r.reply(answer)
		}
	}
}

// next returns a request that waits, or takes note that a call has ended.
func (s *server) next() (r request, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		r, s.waiting[0], s.waiting = s.waiting[0], request{}, s.waiting[1:]
		s.bytes -= len(r.data)
		return r, true
	}
	s.running--
	s.finish()
	return r, false
}

// end lets no further request begin.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.cancel()
	if !s.over {
		s.over, s.waiting, s.bytes = true, nil, 0
		s.finish()
	}
}

func (s *server) finish() {
	if s.over && s.running == 0 {
		close(s.done)
	}
}
