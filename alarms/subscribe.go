package alarms

import (
	"context"
	"sync"
)

// SubscribeOptions select the events of a subscription. The zero SubscribeOptions select what is to be annunciated, of
// every severity and each once, including alarms that are not stored yet; see Occurrence.Unjournaled.
type SubscribeOptions struct {
	Severities SeveritySet
	All        bool // every event of the journal, and nothing that is not stored
	Changes    bool // all other events too; ignored with All
	// Buffer is how many events may be pending; a subscription with more is ended. 1..100,000; default 20,000,
	// which is two of the largest batches.
	Buffer int

	repeats bool // deliver again, when stored, what was delivered before
}

// selects reports whether a subscription delivers an event of the journal.
func (o *SubscribeOptions) selects(e *Event) bool {
	return (o.All || o.Changes || e.Annunciate) && o.Severities.Has(e.Occurrence.Severity)
}

// Subscription delivers events in the order of the journal, each once. One goroutine may call Next at
// a time; Close may be called from any.
type Subscription struct {
	hub   *hub
	opts  SubscribeOptions
	start int64         // sequence number of the last event before it; -1 until known; guarded by hub.mu
	wake  chan struct{} // holds a token if events may be pending

	mu      sync.Mutex
	pending []*Event
	err     error // why it ended
}

// hub publishes events to subscriptions.
type hub struct {
	mu      sync.Mutex
	subs    map[*Subscription]struct{}
	ended   bool
	seq     int64         // of the last event published
	before  int64         // sequence number before the first event published
	changed chan struct{} // closed and replaced when seq changes

	early recentIDs // occurrences that were published before they were stored
}

// recentIDs is a set of the newest maxRecent ids that were added.
type recentIDs struct {
	ids   map[string]struct{}
	order []string
}

// maxRecent bounds the set of occurrences that were published before they were stored.
const maxRecent = 2 * maxShown

// add adds an id and reports whether it is new.
func (r *recentIDs) add(id string) bool {
	if r.has(id) {
		return false
	}
	if r.ids == nil {
		r.ids = make(map[string]struct{})
	}
	r.ids[id] = struct{}{}
	if r.order = append(r.order, id); len(r.order) > maxRecent {
		delete(r.ids, r.order[0])
		r.order = r.order[1:]
	}
	return true
}

func (r *recentIDs) has(id string) bool {
	_, ok := r.ids[id]
	return ok
}

// remove removes an id and reports whether it was there.
func (r *recentIDs) remove(id string) bool {
	was := r.has(id)
	delete(r.ids, id)
	return was
}

// Subscribe starts a subscription to the events that are stored from now on. With Options.PollInterval, it may also
// deliver some that other services have stored just before. Close must be called.
func (s *Service) Subscribe(o SubscribeOptions) (*Subscription, error) {
	if o.Buffer < 0 || o.Buffer > 100_000 {
		return nil, ErrInvalidRequest.Because("the buffer of a subscription must be 1 to 100000")
	}
	if o.Buffer == 0 {
		o.Buffer = 2 * maxBatch
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
	if sub.start = s.hub.seq; sub.start == 0 {
		sub.start = -1
	}
	return sub, nil
}

// Next waits for events and returns at most limit of them, or all that are pending if limit <= 0. It returns the error
// of the context, ErrSlowSubscriber if too many events were pending, or ErrClosed after Close. The pending events of a
// slow subscriber are discarded; the journal has them.
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

// started returns the sequence number of the last event before the subscription; -1 if there was no event yet.
func (s *Subscription) started() int64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.start < 0 && s.hub.seq > 0 {
		return s.hub.before // it ended before the first event
	}
	return s.start
}

func (s *Subscription) take(limit int) ([]Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		s.signal() // for the next call too
		return nil, s.err
	}
	n := len(s.pending)
	if limit > 0 && n > limit {
		n = limit
	}
	events := make([]Event, n)
	for i, e := range s.pending[:n] {
		events[i] = *e
	}
	clear(s.pending[:n])
	if n == len(s.pending) {
		s.pending = s.pending[:0]
	} else {
		s.pending = s.pending[n:]
	}
	return events, nil
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the subscription; a waiting Next returns ErrClosed. It may be called twice.
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
		s.err, s.pending = err, nil
	}
	s.signal()
}

// enqueue adds events. It returns false if the subscriber is too slow and the subscription was ended.
func (s *Subscription) enqueue(events []Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.pending)
	for i := range events {
		e := &events[i]
		if !s.opts.selects(e) || !s.opts.All && !s.opts.repeats && s.hub.wasPublished(e) {
			continue
		}
		if len(s.pending) >= s.opts.Buffer {
			s.err, s.pending = ErrSlowSubscriber, nil
			s.signal()
			return false
		}
		s.pending = append(s.pending, e)
	}
	if len(s.pending) > before {
		s.signal()
	}
	return true
}

// publish sends events, which must be ascending, to all subscriptions, omitting those sent before. If gaps is false and
// events before these were not published, it publishes nothing and returns false.
func (h *hub) publish(events []Event, gaps bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(events) > 0 && events[0].Seq <= h.seq {
		events = events[1:]
	}
	switch {
	case len(events) == 0:
		return true
	case !gaps && events[0].Seq != h.seq+1:
		return false
	}
	if h.seq == 0 {
		h.before = events[0].Seq - 1
	}
	for sub := range h.subs {
		if sub.start < 0 {
			sub.start = events[0].Seq - 1
		}
		if !sub.enqueue(events) {
			delete(h.subs, sub)
		}
	}
	for i := range events {
		if h.wasPublished(&events[i]) {
			h.early.remove(events[i].Occurrence.ID)
		}
	}
	h.seq = events[len(events)-1].Seq
	close(h.changed)
	h.changed = make(chan struct{})
	return true
}

// wasTold reports whether an occurrence was published before the event that raised it was stored. The lock is held.
func (h *hub) wasPublished(e *Event) bool {
	return e.Seq > 0 && e.Kind == Raised && h.early.has(e.Occurrence.ID)
}

// announce publishes new occurrences that are not stored yet, each once.
func (h *hub) announce(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var fresh []Event
	for _, e := range events {
		if h.early.add(e.Occurrence.ID) {
			fresh = append(fresh, e)
		}
	}
	for sub := range h.subs {
		if !sub.opts.All && !sub.enqueue(fresh) {
			delete(h.subs, sub)
		}
	}
}

// last returns the sequence number of the last event published.
func (h *hub) last() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
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

// Events returns at most limit events of the journal with a sequence number above after, ascending. A reader that stores
// its position can follow the journal with it. limit is 1..10,000.
func (s *Service) Events(ctx context.Context, after int64, limit int) ([]Event, error) {
	if limit < 1 || limit > maxBatch {
		return nil, ErrInvalidRequest.Because("limit must be 1 to %d", maxBatch)
	}
	return s.store.Events(ctx, after, limit)
}

// Wait returns when an event with a sequence number above after is stored, or the error of the context, or ErrClosed.
// Events of other services count only with Options.PollInterval.
func (s *Service) Wait(ctx context.Context, after int64) error {
	for {
		s.hub.mu.Lock()
		seq, changed := s.hub.seq, s.hub.changed
		s.hub.mu.Unlock()
		if seq > after {
			return nil
		}
		select {
		case <-changed:
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
