package alarms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// call is one call that writes. Calls of many callers are written together, since what a write waits
// for is the disk.
type call struct {
	ctx  context.Context
	refs []Ref
	// apply does the call's part in a draft. It may be called more than once, and changes nothing
	// when it gives an error. It is not called, and what it refers to is left alone, once the caller is gone.
	apply func(d *draft, found []RefResult) error

	mu    sync.Mutex
	begun bool // apply was called
	gone  bool // the caller has given up

	err  error // of apply
	done chan error
}

// do has a call written and returns when it is stored or has failed. When the context ends before the call
// has begun, nothing is done; afterwards whether it will be is not known.
func (s *Service) do(ctx context.Context, refs []Ref, apply func(*draft, []RefResult) error) error {
	if err := ctx.Err(); err != nil {
		return errCanceled.Wrap(err)
	}
	c := &call{ctx: ctx, refs: refs, apply: apply, done: make(chan error, 1)}
	if err := s.enter(c); err != nil {
		return err
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
	}
	if c.leave() {
		return ErrOutcomeUnknown.Wrap(ctx.Err())
	}
	return errCanceled.Wrap(ctx.Err())
}

// leave notes that nobody waits for the call any more, and reports whether it has begun.
func (c *call) leave() (begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	return c.begun
}

// awaited reports whether somebody waits for the call.
func (c *call) awaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone
}

// carryOut does the call's part in a draft, unless its caller is gone.
func (c *call) carryOut(d *draft, found []RefResult) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return errCanceled
	}
	c.begun = true
	return c.apply(d, found)
}

func (s *Service) enter(c *call) error {
	s.callMu.RLock()
	defer s.callMu.RUnlock()
	if s.ended {
		return ErrClosed
	}
	select {
	case s.queue <- c:
		return nil
	case <-s.own.Done():
		return ErrClosed
	case <-c.ctx.Done():
		return errCanceled.Wrap(c.ctx.Err())
	}
}

// maxGroupRefs bounds what the calls of one transaction are about; a single call may be larger.
const maxGroupRefs = 4000

// write carries calls out until the queue is closed and empty.
func (s *Service) write() {
	var held *call // taken from the queue, but too large to share the transaction before it
	for {
		first := held
		held = nil
		if first == nil {
			var open bool
			if first, open = <-s.queue; !open {
				return
			}
		}
		batch, refs := []*call{first}, len(first.refs)
	gather:
		for len(batch) < s.maxCommitBatch {
			select {
			case c, open := <-s.queue:
				if !open {
					break gather
				}
				if refs += len(c.refs); refs > maxGroupRefs {
					held = c
					break gather
				}
				batch = append(batch, c)
			default:
				break gather
			}
		}
		s.commit(batch)
	}
}

// commit writes a batch in one transaction. When that fails its calls get one each, so that none
// fails for what another one holds, unless the outcome of the one for all is unknown.
func (s *Service) commit(batch []*call) {
	batch = slices.DeleteFunc(batch, func(c *call) bool { return !c.awaited() })
	if len(batch) == 0 {
		return
	}
	err := s.together(batch)
	for _, c := range batch {
		own := err
		switch {
		case err == nil:
			own = c.err
		case len(batch) > 1 && !errors.Is(err, ErrOutcomeUnknown):
			if own = s.together([]*call{c}); errors.Is(own, ErrOutcomeUnknown) {
				err = own // the store does not answer: the others need not wait for it in turn
			}
		}
		c.done <- own
	}
}

// together writes calls in one transaction and notifies subscribers. The error is the store's, or, for a
// single call, its own.
func (s *Service) together(calls []*call) error {
	var refs []Ref
	if len(calls) == 1 {
		refs = calls[0].refs
	} else {
		for _, c := range calls {
			refs = append(refs, c.refs...)
		}
	}
	// Not the caller's context: what has begun is brought to its end.
	ctx, cancel := context.WithTimeout(s.writing, s.writeTimeout)
	defer cancel()
	var events []Event
	err := s.store.Write(ctx, refs, func(next int64, found []RefResult) (Changes, error) {
		events = nil
		at, ahead := s.times.look()
		d := &draft{now: stamp(at), wall: stamp(at.Add(-ahead)), next: next, newID: s.newID}
		for _, c := range calls {
			c.err = c.carryOut(d, found[:len(c.refs)])
			found = found[len(c.refs):]
		}
		if len(calls) == 1 && calls[0].err != nil {
			return Changes{}, calls[0].err
		}
		events = d.changes.Events
		return d.changes, nil
	})
	if err != nil {
		stored, lookErr := s.stored(s.writing, events)
		switch {
		case lookErr != nil || !stored && ctx.Err() != nil:
			return ErrOutcomeUnknown.Wrap(&unsettled{error: errors.Join(err, lookErr), service: s, events: events})
		case !stored:
			return err
		}
	}
	s.publishOwn(events)
	return nil
}

// stored reports whether events that were to be stored are in the journal, after the write has failed: the
// word that it succeeded may be what was lost.
func (s *Service) stored(ctx context.Context, events []Event) (bool, error) {
	if len(events) == 0 {
		return false, nil
	}
	first := events[0]
	ctx, cancel := context.WithTimeout(ctx, s.writeTimeout)
	defer cancel()
	// A transaction that may still be under way is over when another one begins.
	last, err := endOfJournal(ctx, s.store)
	if err != nil || last < first.Seq {
		return false, err
	}
	list, err := s.store.Events(ctx, first.Seq-1, 1)
	return len(list) > 0 && list[0].ID == first.ID, err
}

// unsettled is why the outcome of a transaction is not known. Whoever has it can ask again.
type unsettled struct {
	error
	service *Service
	events  []Event // that it was to store
}

// ResolveOutcome reports whether a write that failed with an error was stored after all, so that it must not be repeated. While that is
// still not known, it returns an error. The error of a write that was not stored resolves to false.
func ResolveOutcome(ctx context.Context, failed error) (stored bool, err error) {
	var u *unsettled
	if !errors.As(failed, &u) {
		return false, nil
	}
	if stored, err = u.service.stored(ctx, u.events); stored {
		u.service.publishOwn(u.events)
	}
	return stored, err
}

// draft gathers what one transaction changes.
type draft struct {
	now         time.Time
	wall        time.Time // now by the clock, which may have been set back
	next        int64
	newID       func() string
	changes     Changes
	conditions  map[*Condition]struct{}
	occurrences map[*Occurrence]struct{}
}

// condition notes that a condition has changed.
func (d *draft) condition(c *Condition) {
	if d.conditions == nil {
		d.conditions = make(map[*Condition]struct{})
	}
	if _, again := d.conditions[c]; !again {
		d.conditions[c] = struct{}{}
		d.changes.Conditions = append(d.changes.Conditions, c)
	}
}

// occurrence notes that an occurrence has changed.
func (d *draft) occurrence(o *Occurrence) {
	if d.occurrences == nil {
		d.occurrences = make(map[*Occurrence]struct{})
	}
	if _, again := d.occurrences[o]; !again {
		d.occurrences[o] = struct{}{}
		d.changes.Occurrences = append(d.changes.Occurrences, o)
	}
}

// event journals what has just happened to an occurrence, or to a condition that has none.
func (d *draft) event(e Event, c *Condition, o *Occurrence) {
	e.Seq, e.ID = d.next, d.newID()
	d.next++
	if e.At.IsZero() {
		e.At = d.now
	}
	if o != nil {
		d.occurrence(o)
		if e.Kind == Raised {
			o.Seq = e.Seq
		}
		e.Occurrence = *o
	} else {
		e.Occurrence = Occurrence{Code: c.Code, Key: c.Key, Suppression: c.Suppression}
	}
	d.changes.Events = append(d.changes.Events, e)
}
