package bus

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/otkit/otkit/internal/wake"
)

// What may wait for a subscriber. Further messages are lost.
const (
	maxQueued      = 4096
	maxQueuedBytes = 32 << 20
)

// Subscriber is a subscriber of an [Inbox].
type Subscriber struct {
	in      *Inbox
	subject string
	handle  func([]byte)
	queue   *wake.Queue[[]byte]
	bytes   atomic.Int64 // of what waits
	ended   atomic.Bool
	self    atomic.Pointer[[]byte] // the goroutine that calls handle
	done    chan struct{}
}

func newSubscriber(in *Inbox, subject string, handle func([]byte)) *Subscriber {
	return &Subscriber{in: in, subject: subject, handle: handle, queue: wake.NewQueue[[]byte](maxQueued), done: make(chan struct{})}
}

// Deliver passes a message to this subscriber alone. It does not wait for it. It keeps data.
func (s *Subscriber) Deliver(data []byte) {
	size := int64(len(data))
	if s.ended.Load() {
		return
	}
	if s.bytes.Add(size) > maxQueuedBytes || !s.queue.Add(data) {
		s.bytes.Add(-size)
		if !s.ended.Load() {
			s.in.lost.Add(1)
		}
	}
}

func (s *Subscriber) run() {
	defer close(s.done)
	defer s.in.ended(s.done)
	self := goroutine()
	s.self.Store(&self)
	for {
		list, err := s.queue.Next(context.Background(), 0)
		if err != nil {
			return
		}
		for _, data := range list {
			if s.ended.Load() {
				return
			}
			s.handle(data)
			s.bytes.Add(-int64(len(data)))
		}
	}
}

// Cancel ends the subscriber. It waits for the call of its handler that runs, unless that is who calls Cancel.
func (s *Subscriber) Cancel() {
	s.in.mu.Lock()
	if i := slices.Index(s.in.subs[s.subject], s); i >= 0 {
		if s.in.subs[s.subject] = slices.Delete(s.in.subs[s.subject], i, i+1); len(s.in.subs[s.subject]) == 0 {
			delete(s.in.subs, s.subject)
		}
	}
	s.in.mu.Unlock()
	s.end()
	if self := s.self.Load(); self == nil || !bytes.Equal(*self, goroutine()) {
		<-s.done
	}
}

func (s *Subscriber) end() {
	s.ended.Store(true)
	s.queue.End(ErrClosed)
}

// goroutine returns what tells the goroutine that calls it from others: the beginning of its stack, "goroutine 7 ".
func goroutine() []byte {
	text := make([]byte, 32)
	text = text[:runtime.Stack(text, false)]
	return text[:bytes.IndexByte(text, '[')]
}
