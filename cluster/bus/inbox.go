package bus

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Inbox is the receiving half of an engine's bus, for those who implement [Bus]: it calls the handlers of subscribers one after the other and those of
// servers concurrently, and bounds what waits for them. The zero Inbox is ready for use; it must not be copied. Safe for concurrent use.
type Inbox struct {
	lost atomic.Uint64

	mu      sync.RWMutex
	closed  bool
	subs    map[string][]*Subscriber
	servers map[string]*server
	active  map[<-chan struct{}]struct{} // closed when a subscriber or server has ended: those of all that have not
}

// Subscribe adds a subscriber of a subject. It returns [ErrSubject] or [ErrClosed].
func (in *Inbox) Subscribe(subject string, handle func(data []byte)) (*Subscriber, error) {
	if err := CheckSubject(subject); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return nil, ErrClosed
	}
	if in.subs == nil {
		in.subs = map[string][]*Subscriber{}
	}
	s := newSubscriber(in, subject, handle)
	in.subs[subject] = append(in.subs[subject], s)
	in.begun(s.done)
	go s.run()
	return s, nil
}

// Serve sets who answers the requests of a subject. cancel is that of [Bus].Serve. It returns [ErrSubject], [ErrServed] or [ErrClosed].
func (in *Inbox) Serve(subject string, handle func(ctx context.Context, data []byte) []byte) (cancel func(), err error) {
	if err := CheckSubject(subject); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		return nil, ErrClosed
	case in.servers[subject] != nil:
		return nil, ErrServed.On("subject", subject)
	case in.servers == nil:
		in.servers = map[string]*server{}
	}
	s := newServer(&in.lost, handle)
	in.servers[subject] = s
	in.begun(s.done)
	return func() {
		in.mu.Lock()
		if in.servers[subject] == s {
			delete(in.servers, subject)
		}
		in.mu.Unlock()
		s.end()
		<-s.done
		in.ended(s.done)
	}, nil
}

// Deliver passes a message to the subscribers of its subject. It does not wait for them. It keeps data.
func (in *Inbox) Deliver(subject string, data []byte) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	for _, s := range in.subs[subject] {
		s.Deliver(data)
	}
}

// Request passes a request to the server of its subject and reports whether there is one. It does not wait for it. It keeps data. reply is called
// with the answer, at most once; never if there is none or it is too large.
func (in *Inbox) Request(subject string, data []byte, reply func(answer []byte)) bool {
	in.mu.RLock()
	s := in.servers[subject]
	in.mu.RUnlock()
	return s != nil && s.request(request{data, reply})
}

// Lost returns how many messages and requests could not be handled in time.
func (in *Inbox) Lost() uint64 { return in.lost.Load() }

// Close ends all subscribers and servers and waits for the calls that run, as long as ctx lasts. Calling it again is safe.
func (in *Inbox) Close(ctx context.Context) error {
	in.mu.Lock()
	in.closed = true
	for _, subs := range in.subs {
		for _, s := range subs {
			s.end()
		}
	}
	for _, s := range in.servers {
		s.end()
	}
	in.subs, in.servers = nil, nil
	active := slices.Collect(maps.Keys(in.active))
	in.mu.Unlock()
	for _, done := range active {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// begun has Close wait until done is closed. The caller holds the lock.
func (in *Inbox) begun(done <-chan struct{}) {
	if in.active == nil {
		in.active = map[<-chan struct{}]struct{}{}
	}
	in.active[done] = struct{}{}
}

func (in *Inbox) ended(done <-chan struct{}) {
	in.mu.Lock()
	delete(in.active, done)
	in.mu.Unlock()
}
