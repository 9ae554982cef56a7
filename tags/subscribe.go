package tags

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/otkit/otkit/internal/wake"
)

// SubscribeOptions sets what a subscription watches and how often it delivers.
type SubscribeOptions struct {
	Names    []string      // each must exist; repeated names count once
	Patterns []string      // LIKE patterns; tags that are defined later and match are added
	Throttle time.Duration // least time between two deliveries; 0 for none
	Deadband float64       // skip a number that differs by less from what was last delivered; 0 for none
}

// Subscription delivers changes of tags. It never holds more than one pending change for a tag, the
// newest, so a slow reader costs nothing and delays no other. Tags are served in the order in which
// they changed. One goroutine may call Next at a time; Close may be called from any.
type Subscription struct {
	engine   *Engine
	throttle time.Duration
	deadband float64
	patterns []*Pattern
	names    map[string]bool // asked for by name

	joining sync.Mutex     // taken before mu and before an entry's lock
	slots   map[string]int // index in items by tag name
	free    []int          // items of tags that are gone

	wake wake.Signal // holds one token when something may be pending
	done chan struct{}

	mu      sync.Mutex
	closed  bool
	items   []subItem
	pending []int // indexes of items, each at most once; the first head of them are taken
	head    int
	first   int       // so many pending items at the front are the initial values
	last    time.Time // when the last throttled delivery left
}

type subItem struct {
	entry   *entry
	pending bool
	sent    bool
	quality Quality
	reason  Reason
	number  bool
	seq     uint64 // of what was sent
	value   float64
}

// Subscribe starts a subscription. Its first deliveries are the current values of all its tags,
// outside the throttle. Unknown names are an ErrTagNotFound naming the first of them, negative
// options an ErrInvalidRequest. Close must be called.
func (e *Engine) Subscribe(o SubscribeOptions) (*Subscription, error) {
	if len(o.Names) == 0 && len(o.Patterns) == 0 {
		return nil, ErrInvalidRequest.Because("tag names are required")
	}
	if o.Throttle < 0 {
		return nil, ErrInvalidRequest.Because("the throttle must not be negative")
	}
	if o.Deadband < 0 || math.IsNaN(o.Deadband) || math.IsInf(o.Deadband, 0) {
		return nil, ErrInvalidRequest.Because("the deadband must be a number that is not negative")
	}
	s := &Subscription{engine: e, throttle: o.Throttle, deadband: o.Deadband,
		wake: wake.NewSignal(), done: make(chan struct{})}
	for _, text := range o.Patterns {
		p, err := CompilePattern(text)
		if err != nil {
			return nil, err
		}
		s.patterns = append(s.patterns, p)
	}
	named := make([]*entry, len(o.Names))
	s.names, s.slots = make(map[string]bool, len(o.Names)), make(map[string]int, len(o.Names))
	for i, name := range o.Names {
		en, err := e.find(name)
		if err != nil {
			return nil, err
		}
		named[i], s.names[name] = en, true
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	e.subs[s] = struct{}{} // what is defined from now on joins; what was, below
	e.mu.Unlock()
	for _, en := range named {
		s.join(en)
	}
	if len(s.patterns) > 0 {
		for _, en := range e.sortedEntries() {
			s.joinNew(en)
		}
	}
	s.mu.Lock()
	s.first = s.waiting()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		s.unwatch() // also what joined after the engine was closed
		return nil, ErrClosed
	}
	return s, nil
}

func (s *Subscription) matches(en *entry) bool {
	if s.names[en.tag.Load().Name] {
		return true // removed and defined again
	}
	for _, p := range s.patterns {
		if p.matchLower(en.lower) {
			return true
		}
	}
	return false
}

// join adds an entry, in the place of a removed one of the same name if there was one, and makes its
// current value pending. The watch is in place before the value counts as pending, so no change is
// missed between the two. An entry may join twice, as a known and as a new one.
func (s *Subscription) join(en *entry) {
	s.joining.Lock()
	defer s.joining.Unlock()
	name := en.tag.Load().Name
	i, again := s.slots[name]
	s.mu.Lock()
	switch {
	case s.closed, en.gone.Load(), again && s.items[i].entry == en:
		s.mu.Unlock()
		return
	case again:
		s.items[i].entry, s.items[i].sent = en, false
	case len(s.free) > 0:
		i, s.free = s.free[len(s.free)-1], s.free[:len(s.free)-1]
		s.slots[name] = i
		s.items[i] = subItem{entry: en}
	default:
		i = len(s.items)
		s.slots[name] = i
		s.items = append(s.items, subItem{entry: en})
	}
	s.mu.Unlock()
	en.mu.Lock()
	en.watches = append(en.watches, watch{s, i})
	en.mu.Unlock()
	s.mark(i)
}

// joinNew adds an entry when it matches.
func (s *Subscription) joinNew(en *entry) {
	if s.matches(en) {
		s.join(en)
	}
}

// leave releases the items of removed tags that the reader has seen. Their places are used again.
func (s *Subscription) leave(gone []int) {
	s.joining.Lock()
	defer s.joining.Unlock()
	for _, i := range gone {
		s.mu.Lock()
		en := s.items[i].entry
		s.mu.Unlock()
		if en == nil || !en.gone.Load() {
			continue // another tag of the name has come
		}
		en.unwatch(s) // nothing marks the item any more
		s.mu.Lock()
		if !s.items[i].pending {
			delete(s.slots, en.tag.Load().Name)
			s.items[i] = subItem{}
			s.free = append(s.free, i)
		}
		s.mu.Unlock()
	}
}

// waiting counts what is pending.
func (s *Subscription) waiting() int { return len(s.pending) - s.head }

// mark makes an item pending.
func (s *Subscription) mark(i int) {
	s.mu.Lock()
	if s.closed || s.items[i].pending {
		s.mu.Unlock()
		return
	}
	s.items[i].pending = true
	s.pending = append(s.pending, i)
	s.mu.Unlock()
	s.wake.Set()
}

// Next waits for changes and returns at most limit of them (all pending ones for limit <= 0), each with
// the newest sample of its tag. Two calls return at least the throttle apart, the initial values
// excepted. It ends with the context's error, or with ErrClosed after Close.
func (s *Subscription) Next(ctx context.Context, limit int) ([]Change, error) {
	for {
		if err := s.await(ctx); err != nil {
			return nil, err
		}
		if changes := s.take(limit); len(changes) > 0 {
			return changes, nil
		}
	}
}

// await returns when something is pending and the throttle has passed.
func (s *Subscription) await(ctx context.Context) error {
	for {
		s.mu.Lock()
		pending, closed := s.waiting() > 0, s.closed
		wait := time.Duration(0)
		if pending && s.first == 0 && s.throttle > 0 && !s.last.IsZero() {
			wait = s.throttle - time.Since(s.last)
		}
		s.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case pending && wait <= 0:
			return ctx.Err()
		case pending:
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			case <-s.done:
				timer.Stop()
			}
		default:
			select {
			case <-s.wake.C():
			case <-ctx.Done():
				return ctx.Err()
			case <-s.done:
			}
		}
	}
}

// take removes pending items from the front and reads their newest samples.
func (s *Subscription) take(limit int) []Change {
	s.mu.Lock()
	initial := s.first > 0
	n := s.waiting()
	if initial {
		n = s.first
	}
	if limit > 0 && n > limit {
		n = limit
	}
	batch := make([]int, n)
	copy(batch, s.pending[s.head:])
	s.head += n
	if s.head*2 >= len(s.pending) { // rarely enough that moving the rest costs little per item
		s.pending = s.pending[:copy(s.pending, s.pending[s.head:])]
		s.head = 0
	}
	entries := make([]*entry, n)
	for k, i := range batch {
		s.items[i].pending = false
		entries[k] = s.items[i].entry
	}
	if initial {
		s.first -= n
	}
	s.mu.Unlock()

	changes := make([]Change, 0, n)
	var gone []int
	for k, i := range batch {
		en := entries[k]
		en.mu.Lock()
		c := Change{Tag: en.tag.Load(), Sample: en.sample, Seq: en.seq, Degraded: en.degraded, Recorded: en.recorded, Remote: en.remote}
		if !c.Degraded {
			en.restores(&c)
		} else if en.engine > c.ServerTime.UnixMicro() {
			c.moved = en.engine
		}
		en.mu.Unlock()
		if s.wanted(i, en, c) {
			changes = append(changes, c)
		}
		if c.Reason == ReasonRemoved && en.gone.Load() {
			gone = append(gone, i)
		}
	}
	if len(gone) > 0 {
		s.leave(gone)
	}
	if len(changes) > 0 && !initial {
		s.mu.Lock()
		s.last = time.Now()
		s.mu.Unlock()
	}
	return changes
}

// wanted reports whether a change is to be delivered, and remembers it as delivered if so.
func (s *Subscription) wanted(i int, en *entry, c Change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := &s.items[i]
	if it.entry != en || it.sent && it.seq == c.Seq {
		return false // another tag of the same name is pending, or nothing is new
	}
	f, number := c.Value.Float()
	number = number && c.Value.kind != kindBool
	if it.sent && s.deadband > 0 && number && it.number && c.Quality == it.quality && c.Reason == it.reason && math.Abs(f-it.value) < s.deadband {
		return false
	}
	it.sent, it.seq, it.value, it.number, it.quality, it.reason = true, c.Seq, f, number, c.Quality, c.Reason
	return true
}

// Close ends the subscription; a waiting Next returns ErrClosed. Closing twice is harmless.
func (s *Subscription) Close() {
	s.engine.mu.Lock()
	delete(s.engine.subs, s)
	s.engine.mu.Unlock()
	s.end()
}

func (s *Subscription) end() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.done)
	s.mu.Unlock()
	s.unwatch()
}

// unwatch takes the subscription from its entries.
func (s *Subscription) unwatch() {
	s.joining.Lock()
	defer s.joining.Unlock()
	s.mu.Lock()
	items := s.items
	s.mu.Unlock()
	for i := range items {
		if en := items[i].entry; en != nil {
			en.unwatch(s)
		}
	}
}

func (e *entry) unwatch(s *Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept := e.watches[:0]
	for _, w := range e.watches {
		if w.sub != s {
			kept = append(kept, w)
		}
	}
	clear(e.watches[len(kept):])
	e.watches = kept
}
