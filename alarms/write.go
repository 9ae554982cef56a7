package alarms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// call is a call that writes. Several calls share a transaction, because the disk is what takes time.
type call struct {
	ctx  context.Context
	refs []Ref
	// apply adds the changes of the call to a draft. It may be called more than once, and changes nothing if it
	// returns an error. It is not called after the caller has returned.
	apply func(d *draft, found []RefResult) error

	mu    sync.Mutex
	begun bool // apply was called
	gone  bool // the caller has returned

	err  error // of apply
	done chan error
}

// do stores the changes of a call and returns when they are stored or have failed. If the context ends before the call
// has begun, nothing is changed; afterwards the outcome is unknown.
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

// leave records that the caller has returned, and reports whether the call has begun.
func (c *call) leave() (begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	return c.begun
}

// awaited reports whether the caller still waits.
func (c *call) awaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone
}

// carryOut adds the changes of the call to a draft, unless its caller has returned.
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

// maxGroupRefs bounds the refs of a transaction of several calls. A single call may have more.
const maxGroupRefs = 4000

// write stores calls until the queue is closed and empty.
func (s *Service) write() {
	var held *call // taken from the queue, but too large for the current transaction
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

// commit stores a batch in one transaction. If that fails, each call gets a transaction of its own, so that one bad call
// does not fail the others, unless the outcome is unknown.
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
				err = own // the store does not answer, so the others need not try
			}
		}
		c.done <- own
	}
}

// together stores calls in one transaction and notifies subscribers. It returns the error of the store, or, for a single
// call, the error of its apply.
func (s *Service) together(calls []*call) error {
	var refs []Ref
	if len(calls) == 1 {
		refs = calls[0].refs
	} else {
		for _, c := range calls {
			refs = append(refs, c.refs...)
		}
	}
	// Not the context of a caller: a transaction that has begun is completed.
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
			return ErrOutcomeUnknown.Wrap(&unknownOutcome{error: errors.Join(err, lookErr), service: s, events: events})
		case !stored:
			return err
		}
	}
	s.publishOwn(events)
	return nil
}

// stored reports whether the events of a failed write are in the journal: the write may have succeeded although its
// result was lost.
func (s *Service) stored(ctx context.Context, events []Event) (bool, error) {
	if len(events) == 0 {
		return false, nil
	}
	first := events[0]
	ctx, cancel := context.WithTimeout(ctx, s.writeTimeout)
	defer cancel()
	// When another transaction begins, one that may still be in progress has ended.
	last, err := endOfJournal(ctx, s.store)
	if err != nil || last < first.Seq {
		return false, err
	}
	list, err := s.store.Events(ctx, first.Seq-1, 1)
	return len(list) > 0 && list[0].ID == first.ID, err
}

// unknownOutcome is the cause of an ErrOutcomeUnknown. ResolveOutcome uses it.
type unknownOutcome struct {
	error
	service *Service
	events  []Event // of the transaction
}

// ResolveOutcome reports whether a write that failed was stored after all, so that it must not be repeated. If that is
// still unknown, it returns an error. failed may be any error; one that is not an ErrOutcomeUnknown resolves to false.
func ResolveOutcome(ctx context.Context, failed error) (stored bool, err error) {
	var u *unknownOutcome
	if !errors.As(failed, &u) {
		return false, nil
	}
	if stored, err = u.service.stored(ctx, u.events); stored {
		u.service.publishOwn(u.events)
	}
	return stored, err
}

// draft collects the changes of a transaction.
type draft struct {
	now         time.Time
	wall        time.Time // the clock, which may have been set back
	next        int64
	newID       func() string
	changes     Changes
	conditions  map[*Condition]struct{}
	occurrences map[*Occurrence]struct{}
	late        map[string]*Occurrence // by id, those of Signal.Ended
}

// condition adds a changed condition.
func (d *draft) condition(c *Condition) {
	if d.conditions == nil {
		d.conditions = make(map[*Condition]struct{})
	}
	if _, again := d.conditions[c]; !again {
		d.conditions[c] = struct{}{}
		d.changes.Conditions = append(d.changes.Conditions, c)
	}
}

// occurrence adds a changed occurrence.
func (d *draft) occurrence(o *Occurrence) {
	if d.occurrences == nil {
		d.occurrences = make(map[*Occurrence]struct{})
	}
	if _, again := d.occurrences[o]; !again {
		d.occurrences[o] = struct{}{}
		d.changes.Occurrences = append(d.changes.Occurrences, o)
	}
}

// event adds an event of an occurrence, or of a condition if o is nil.
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
