package alarms

import (
	"context"
	"sync"
)

// SubscribeOptions say what a subscription delivers. The zero SubscribeOptions deliver new occurrences
// of every severity, each once: also those that cannot be stored yet, see Occurrence.Unjournaled.
type SubscribeOptions struct {
	Severities SeveritySet
	All        bool // every event of the journal and nothing else, not only those that are New
	Changes    bool // besides what is New, every other event; ignored with All
	// Buffer is how many events may wait to be read; a subscriber that lets more gather is ended.
	// 1..100,000; default 20,000, which is two of the largest batches.
	Buffer int

	repeats bool // deliver what was delivered before it was stored once more when it is
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
	start int64         // number of the last event before it; -1 until it is known. hub.mu guards it
	wake  chan struct{} // holds one token when something may wait

	mu      sync.Mutex
	waiting []*Event
	err     error // why it ended
}

// hub publishes events to subscriptions.
type hub struct {
	mu      sync.Mutex
	subs    map[*Subscription]struct{}
	ended   bool
	seq     int64         // of the last event told
	before  int64         // number of the event before the first one told, where seq was 0
	changed chan struct{} // closed and replaced when seq changes

	told recentIDs // occurrences that were told before they were stored
}

// recentIDs is a set of the newest maxRecent ids that were added.
type recentIDs struct {
	ids   map[string]struct{}
	order []string
}

// maxRecent bounds the occurrences that are remembered to have been delivered before they were stored.
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

// Subscribe starts a subscription: every event that is stored from now on and that it asks for is
// delivered, and, with Options.Follow, some that other services have stored just before. Close must be
// called.
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

// Next waits for events and returns at most limit of them (all that wait for limit <= 0). It ends with
// the context's error, with ErrSlowSubscriber when too many events waited, or with ErrClosed after
// Close. Events of a slow subscriber that were waiting are lost to it; the journal has them.
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

// started returns the number of the last event before the subscription; -1 when no event has come.
func (s *Subscription) started() int64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.start < 0 && s.hub.seq > 0 {
		return s.hub.before // it ended before the first event came
	}
	return s.start
}

func (s *Subscription) take(limit int) ([]Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		s.signal() // for the next call as well
		return nil, s.err
	}
	n := len(s.waiting)
	if limit > 0 && n > limit {
		n = limit
	}
	events := make([]Event, n)
	for i, e := range s.waiting[:n] {
		events[i] = *e
	}
	clear(s.waiting[:n])
	if n == len(s.waiting) {
		s.waiting = s.waiting[:0]
	} else {
		s.waiting = s.waiting[n:]
	}
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
		s.err, s.waiting = err, nil
	}
	s.signal()
}

// tell queues events. It is false when the subscriber is too slow and was ended.
func (s *Subscription) enqueue(events []Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.waiting)
	for i := range events {
		e := &events[i]
		if !s.opts.selects(e) || !s.opts.All && !s.opts.repeats && s.hub.wasTold(e) {
			continue
		}
		if len(s.waiting) >= s.opts.Buffer {
			s.err, s.waiting = ErrSlowSubscriber, nil
			s.signal()
			return false
		}
		s.waiting = append(s.waiting, e)
	}
	if len(s.waiting) > before {
		s.signal()
	}
	return true
}

// publish sends events, which ascend, to all subscriptions and omits those sent before. Unless
// gaps may be, as where the journal has been read, it tells nothing and gives false when events before
// these have not been told.
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
		if h.wasTold(&events[i]) {
			h.told.remove(events[i].Occurrence.ID)
		}
	}
	h.seq = events[len(events)-1].Seq
	close(h.changed)
	h.changed = make(chan struct{})
	return true
}

// wasTold reports whether an occurrence was published before the event that raised it was stored. The lock is held.
func (h *hub) wasTold(e *Event) bool {
	return e.Seq > 0 && e.Kind == Raised && h.told.has(e.Occurrence.ID)
}

// announce publishes new occurrences that are not stored yet, each once.
func (h *hub) announce(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var fresh []Event
	for _, e := range events {
		if h.told.add(e.Occurrence.ID) {
			fresh = append(fresh, e)
		}
	}
	for sub := range h.subs {
		if !sub.opts.All && !sub.enqueue(fresh) {
			delete(h.subs, sub)
		}
	}
}

// last returns the number of the last event published.
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

// Events returns at most limit events of the journal with a sequence number above after, ascending: what
// a reader that keeps its place over a restart follows. limit is 1..10,000.
func (s *Service) Events(ctx context.Context, after int64, limit int) ([]Event, error) {
	if limit < 1 || limit > maxBatch {
		return nil, ErrInvalidRequest.Because("limit must be 1 to %d", maxBatch)
	}
	return s.store.Events(ctx, after, limit)
}

// Wait returns when an event with a number above after is stored, or with the context's error, or with
// ErrClosed. Events that another service stores end it with Options.Follow only.
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
