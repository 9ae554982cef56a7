package repository

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/aas"
)

// EventType returns what happened to a document.
type EventType string

// The types of event.
const (
	Created      EventType = "created"
	Updated      EventType = "updated"
	Deleted      EventType = "deleted"
	ValueChanged EventType = "valueChanged" // of the element at Path, or of several of the submodel when Path is empty
)

// Event is a stored change, or a live value that was written.
type Event struct {
	Type    EventType
	Kind    Kind
	ID      string
	Path    string // idShortPath of the element that changed; empty for the whole document
	Version uint64 // of the document after the change; 0 when it is deleted
	At      time.Time
}

const maxBuffer = 1_000_000

// SubscribeOptions say what a subscription delivers.
type SubscribeOptions struct {
	Kinds []Kind // none means every kind
	// Buffer is how many events may wait to be read; a subscriber that lets more gather is ended.
	// 1..1,000,000; default 20,000. Those of one import, or of documents that
	// were written together, count as one, up to a million events in all.
	Buffer int
}

// Subscription delivers the changes that this service makes. Those of one document come in the order
// of their versions, except that an import may be reported late. One goroutine may call Next at a time;
// Close may be called from any.
type Subscription struct {
	hub  *hub
	opts SubscribeOptions
	wake chan struct{} // holds one token when something may wait

	mu      sync.Mutex
	waiting [][]Event // what was sent together, each with at least one event
	events  int       // in waiting
	err     error     // why it ended
}

// hub sends events to subscriptions.
type hub struct {
	mu    sync.Mutex
	subs  map[*Subscription]struct{}
	ended bool
}

// Subscribe starts a subscription: every change that is stored from now on is delivered. Close must be
// called.
func (s *Service) Subscribe(o SubscribeOptions) (*Subscription, error) {
	if o.Buffer < 0 || o.Buffer > maxBuffer {
		return nil, aas.ErrInvalidRequest.Because("the buffer of a subscription must be 1 to %d", maxBuffer)
	}
	if o.Buffer == 0 {
		o.Buffer = 20_000
	}
	sub := &Subscription{hub: &s.hub, opts: o, wake: make(chan struct{}, 1)}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.ended {
		return nil, ErrClosed
	}
	if s.hub.subs == nil {
		s.hub.subs = make(map[*Subscription]struct{})
	}
	s.hub.subs[sub] = struct{}{}
	return sub, nil
}

// Next waits for events and returns at most limit of them (all that wait for limit <= 0). It ends with
// the context's error, with ErrSlowSubscriber when too many events waited, or with ErrClosed after
// Close and when the service has stopped.
func (s *Subscription) Next(ctx context.Context, limit int) ([]Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if events, err := s.take(limit); err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Subscription) take(limit int) ([]Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		s.signal() // for the next call as well
		return nil, s.err
	}
	if limit <= 0 || limit > s.events {
		limit = s.events
	}
	if limit == 0 {
		return nil, nil
	}
	events := make([]Event, 0, limit)
	for len(events) < limit {
		first := s.waiting[0]
		n := min(len(first), limit-len(events))
		events = append(events, first[:n]...)
		if s.waiting[0] = first[n:]; n == len(first) {
			s.waiting[0], s.waiting = nil, s.waiting[1:]
		}
	}
	s.events -= limit
	return events, nil
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the subscription; a waiting Next returns ErrClosed. Closing twice is harmless.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	delete(s.hub.subs, s)
	s.hub.mu.Unlock()
	s.end(ErrClosed)
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err, s.waiting, s.events = err, nil, 0
	}
	s.signal()
}

// wanted returns the events of the kinds that are delivered.
func (s *Subscription) wanted(events []Event) []Event {
	if len(s.opts.Kinds) == 0 {
		return events
	}
	var wanted []Event
	for _, e := range events {
		if slices.Contains(s.opts.Kinds, e.Kind) {
			wanted = append(wanted, e)
		}
	}
	return wanted
}

// tell queues events. It is false when the subscriber is too slow and was ended. What is queued is shared
// among the subscribers.
func (s *Subscription) tell(events []Event) bool {
	if events = s.wanted(events); len(events) == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return true // Close is about to take it out
	}
	defer s.signal()
	if len(s.waiting) >= s.opts.Buffer || s.events >= maxBuffer {
		s.err, s.waiting, s.events = ErrSlowSubscriber, nil, 0
		return false
	}
	s.waiting = append(s.waiting, events)
	s.events += len(events)
	return true
}

func (h *hub) publish(events ...Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sub := range h.subs {
		if !sub.tell(events) {
			delete(h.subs, sub)
		}
	}
}

func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for sub := range h.subs {
		sub.end(ErrClosed)
	}
	h.subs = nil
}
