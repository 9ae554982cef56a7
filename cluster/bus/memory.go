package bus

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory joins engines of one process, as in tests.
type Memory struct {
	mu      sync.RWMutex
	engines []*joined
}

// NewMemory returns a Memory without engines.
func NewMemory() *Memory { return &Memory{} }

// Join returns the bus of a further engine.
func (m *Memory) Join() Bus {
	e := &joined{all: m, since: time.Now(), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.engines = append(m.engines, e)
	return e
}

// joined is an engine of a Memory.
type joined struct {
	all      *Memory
	since    time.Time
	inbox    Inbox
	requests Requests
	once     sync.Once
	closed   chan struct{}
}

// Publish implements [Bus].
func (e *joined) Publish(subject string, data []byte) error {
	if err := e.check(subject, data); err != nil {
		return err
	}
	e.all.mu.RLock()
	defer e.all.mu.RUnlock()
	data = bytes.Clone(data)
	for _, other := range e.all.engines {
		if other != e {
			other.inbox.Deliver(subject, data)
		}
	}
	return nil
}

func (e *joined) check(subject string, data []byte) error {
	select {
	case <-e.closed:
		return ErrClosed
	default:
	}
	return CheckMessage(subject, data)
}

// Subscribe implements [Bus].
func (e *joined) Subscribe(subject string, handle func([]byte)) (cancel func(), err error) {
	s, err := e.inbox.Subscribe(subject, handle)
	if err != nil {
		return nil, err
	}
	return s.Cancel, nil
}

// Request implements [Bus].
func (e *joined) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := e.check(subject, data); err != nil {
		return nil, err
	}
	return e.requests.Do(ctx, subject, func(id uint64) error {
		e.all.mu.RLock()
		defer e.all.mu.RUnlock()
		if !slices.ContainsFunc(e.all.engines, func(other *joined) bool {
			return other.inbox.Request(subject, bytes.Clone(data), func(answer []byte) { e.requests.End(id, bytes.Clone(answer), nil) })
		}) {
			return ErrNoAnswer.On("subject", subject)
		}
		return nil
	})
}

// Serve implements [Bus].
func (e *joined) Serve(subject string, handle func(context.Context, []byte) []byte) (cancel func(), err error) {
	return e.inbox.Serve(subject, handle)
}

// Status implements [Bus].
func (e *joined) Status() Status {
	s := Status{Kind: "memory", Up: true, Since: e.since, Lost: e.inbox.Lost()}
	select {
	case <-e.closed:
		s.Up, s.Err = false, ErrClosed.Message
	default:
	}
	return s
}

// Close implements [Bus].
func (e *joined) Close(ctx context.Context) error {
	e.once.Do(func() {
		close(e.closed)
		e.requests.Close()
		e.all.mu.Lock()
		e.all.engines = slices.DeleteFunc(e.all.engines, func(other *joined) bool { return other == e })
		e.all.mu.Unlock()
	})
	return e.inbox.Close(ctx)
}
