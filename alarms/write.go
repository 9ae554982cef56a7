package alarms

import (
	"context"
	"sync/atomic"
	"time"
)

// call is one call that writes. Calls of many callers are written together, since what a write waits
// for is the disk.
type call struct {
	ctx  context.Context
	refs []Ref
	// apply does the call's part in a draft. It may be called more than once, and changes nothing
	// when it gives an error.
	apply func(d *draft, found []Found) error

	begun atomic.Bool // set by whoever comes first: the writer or the caller that gives up
	err   error       // of apply
	done  chan error
}

// do has a call written and returns when it is stored or has failed. A context that ends counts until
// the call begins; after that its outcome is awaited.
func (s *Service) do(ctx context.Context, refs []Ref, apply func(*draft, []Found) error) error {
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
		if c.begun.CompareAndSwap(false, true) {
			return errCanceled.Wrap(ctx.Err())
		}
		return <-c.done
	}
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
		for len(batch) < s.maxGroup {
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
// fails for what another one holds.
func (s *Service) commit(batch []*call) {
	live := batch[:0]
	for _, c := range batch {
		if c.begun.CompareAndSwap(false, true) {
			live = append(live, c)
		}
	}
	if len(live) == 0 {
		return
	}
	err := s.together(live)
	if err != nil && len(live) > 1 {
		for _, c := range live {
			c.done <- s.together([]*call{c})
		}
		return
	}
	for _, c := range live {
		if err != nil {
			c.done <- err
		} else {
			c.done <- c.err
		}
	}
}

// together writes calls in one transaction and tells subscribers. The error is the store's, or, for a
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
	var events []Event
	// Not the caller's context: what has begun is brought to its end.
	err := s.store.Write(context.Background(), refs, func(next int64, found []Found) (Changes, error) {
		d := &draft{now: s.clock(), next: next, newID: s.newID}
		for _, c := range calls {
			c.err = c.apply(d, found[:len(c.refs)])
			found = found[len(c.refs):]
		}
		if len(calls) == 1 && calls[0].err != nil {
			return Changes{}, calls[0].err
		}
		events = d.changes.Events
		return d.changes, nil
	})
	if err != nil {
		return err
	}
	s.tellOwn(events)
	return nil
}

// draft gathers what one transaction changes.
type draft struct {
	now         time.Time
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
		e.Occurrence = Occurrence{Code: c.Code, Key: c.Key, Withheld: c.Withheld}
	}
	d.changes.Events = append(d.changes.Events, e)
}
