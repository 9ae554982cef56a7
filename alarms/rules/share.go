package rules

import (
	"container/list"
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
)

// adoption is the right to store what is evaluated of a driver.
type adoption struct {
	driver string
	epoch  uint64
	valid  func() bool // nil: always
}

func (a *adoption) stands() bool { return a.valid == nil || a.valid() }

// Adopt makes a service with [Options.Shared] evaluate the rules of the tags of a driver, from where the service that evaluated them before
// has left off: with their alarms, and with their delays, beginning with the first sample of each tag that is not Remote. A delay continues from where it is stored, or else from the
// sample that began it, of those that the other service has published. Call it before the driver is run here, and when no other service evaluates them any
// more. epoch is higher by one whenever a service adopts the driver, so that what an earlier run has left is not stored if another service has judged since. valid reports
// whether the right lasts: nothing is stored any more of what was evaluated here once it reports false. It must be quick. If Adopt returns an
// error, call it again or call Abandon.
func (r *Service) Adopt(ctx context.Context, driver string, epoch uint64, valid func() bool) error {
	r.mu.Lock()
	if r.drivers == nil {
		r.mu.Unlock()
		return nil
	}
	r.drivers[driver] = adoption{driver, epoch, valid}
	for _, w := range r.watches {
		if w.def != nil && w.def.Driver == driver {
			w.foreign = true
		}
	}
	r.mu.Unlock()
	return r.adoptIdle(ctx)
}

// Yield ends the evaluation of the rules of a driver, after what it has led to is stored. Call it when the driver is not run
// here any more, and before another service adopts it. If ctx ends first, Yield returns its error.
func (r *Service) Yield(ctx context.Context, driver string) error {
	r.mu.Lock()
	resting := r.rest(driver, r.now())
	r.mu.Unlock()
	if len(resting) == 0 {
		return nil
	}
	if err := r.Settle(ctx); err != nil {
		return err
	}
	for {
		r.mu.Lock()
		unsaved := false
		for _, e := range resting {
			unsaved = unsaved || e.unsaved
		}
		r.mu.Unlock()
		if !unsaved {
			return nil
		}
		poke(r.unsaved)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Abandon is Yield where another service may have adopted the driver already, such as after a lease has ended that could not be
// renewed, and ends a Yield that has failed. What is not stored yet of its alarms is left to that service, except occurrences that are over, which it cannot know.
func (r *Service) Abandon(driver string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest(driver, r.now())
	r.dirty = slices.DeleteFunc(r.dirty, func(e *evaluation) bool {
		if !e.idle || e.tag == nil || e.tag.def == nil || e.tag.def.Driver != driver {
			return false
		}
		e.unsaved = false
		return true
	})
	for _, b := range r.backlogs { // a rule may be removed since, and its tag may have moved
		r.withdraw(b, driver)
	}
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
}

// adopted reports whether the rules of a tag are evaluated here. The lock is held.
func (r *Service) adopted(w *watch) bool {
	return w.def != nil && r.has(w.def.Driver) && w.reason != tags.ReasonRemoved
}

// has reports whether a driver was adopted. The lock is held.
func (r *Service) has(driver string) bool {
	_, ok := r.drivers[driver]
	return ok
}

// share adapts the rules of a tag to its driver, which may be another one now. The lock is held.
func (r *Service) share(w *watch, now time.Time) {
	adopted, removed := r.adopted(w), w.reason == tags.ReasonRemoved
	for _, e := range w.rules {
		switch {
		case e.tag != w:
		case e.idle && removed: // it may be that no service evaluates it
			r.transit(e, alarms.Signal{At: now, Comment: commentTagRemoved})
		case e.idle && adopted:
			r.unadopted = true
		case !e.idle && !adopted && !removed:
			r.makeIdle(e)
		case !e.idle && adopted:
			r.rebind(e)
		}
	}
}

// rebind lets what is pending of a rule be stored by the right to the driver that its tag has come to. The lock is held.
func (r *Service) rebind(e *evaluation) {
	b := r.backlogs[e.rule.ID]
	if b == nil {
		return
	}
	by := r.adoptionOf(e)
	for _, element := range b.pending {
		t := transitionOf(element)
		if t.by.driver == "" {
			continue
		}
		if t.by.driver != by.driver || t.by.epoch != by.epoch {
			r.storable = true
			poke(r.unsaved)
		}
		t.by = by
	}
}

// putIdle replaces a rule in memory that is not evaluated here, and reports whether it has done so. The lock is held.
func (r *Service) putIdle(old, e *evaluation, now time.Time) bool {
	switch known := old != nil && old.idle; {
	case !e.rule.Enabled && known:
		r.transit(old, alarms.Signal{At: now}) // it may be that no service evaluates it
	case !e.rule.Enabled:
		return false
	default:
		e.idle = known && old.rule.Tag == e.rule.Tag || !r.adoptedTag(e.rule.Tag)
		if !e.idle {
			return false
		}
		if old != nil && !known {
			r.clearAlarm(old, now)
		}
		r.join(e, now)
	}
	if old != nil {
		r.leave(old)
	}
	return true
}

// adoptedTag is adopted for a tag that may have no rules yet.
func (r *Service) adoptedTag(name string) bool {
	if w := r.watches[name]; w != nil {
		return r.adopted(w)
	}
	s, ok := r.current(name)
	return ok && s.Tag != nil && r.has(s.Tag.Driver)
}

// rest ends the evaluation of the rules of a driver and returns them. The lock is held.
func (r *Service) rest(driver string, now time.Time) (resting []*evaluation) {
	if r.drivers == nil {
		return nil
	}
	for _, e := range r.rules {
		if e.idle || e.tag == nil || e.tag.def == nil || e.tag.def.Driver != driver || e.tag.reason == tags.ReasonRemoved {
			continue
		}
		if !e.deadline.IsZero() && !e.deadline.After(now) {
			r.expire(e)
		}
		r.makeIdle(e)
		resting = append(resting, e)
	}
	delete(r.drivers, driver)
	return resting
}

// makeIdle ends the evaluation of a rule. Its phase stays until it is stored. The lock is held.
func (r *Service) makeIdle(e *evaluation) {
	r.timers.remove(e)
	delete(r.replaying, e)
	e.own = r.adoptionOf(e).epoch
	e.idle, e.outage, e.points, e.doubt, e.beyond = true, nil, nil, false, reading{}
	e.deadline, e.recheck, e.heard, e.deaf = time.Time{}, time.Time{}, time.Time{}, true
	until := e.since.Truncate(time.Microsecond) // as it is stored
	switch e.phase {
	case PhaseOnDelay:
		e.heard, e.seen = e.since, [2]time.Time{until, until}
	case PhaseNormal:
		e.seen[0] = until
	case PhaseActive:
		e.heard, e.seen[1] = e.since.Add(-e.rule.OnDelay), until // if the alarm is not stored, it is due
	case PhaseOffDelay:
		e.seen[1] = until
	}
}

// heardFor is how long ago, beyond its length, a delay may have begun whose begin is not stored. Who has begun it stores it at once, unless it cannot reach the store:
// then it loses the driver within seconds.
const heardFor = time.Minute

// hear notes since when the condition of an idle rule is true by the samples that another service has published. If that service ends before it has stored the begin
// of a delay, or that it is over, the next one continues from there.
func (e *evaluation) hear(c *tags.Change, now time.Time) {
	if e.rule.OnDelay == 0 && e.rule.OffDelay == 0 || e.rule.Kind == RateOfChange { // a rate needs every sample
		return
	}
	if c.Reason == tags.ReasonEngine { // nothing is heard of that service
		e.deaf = true
		return
	}
	if e.tag.reason == tags.ReasonRemoved {
		e.heard, e.over = time.Time{}, false
		return
	}
	over, known := e.violated(now)
	switch {
	case !known, e.deaf && e.within(over, now): // it depends on what was missed
		return
	case !over:
		e.heard, e.seen[0] = time.Time{}, c.ServerTime
	default:
		if e.heard.IsZero() || e.deaf {
			e.heard = now
		}
		e.seen[1] = c.ServerTime
	}
	unheard := e.tag.reason == tags.ReasonEngine || e.setpoint != nil && e.setpoint.reason == tags.ReasonEngine
	e.over, e.deaf, e.own = over, unheard, 0
}

// within reports whether the result of violated would be another one if the result before had been.
func (e *evaluation) within(over bool, now time.Time) bool {
	e.over = !e.over
	other, _ := e.violated(now)
	e.over = !e.over
	return other != over
}

// withdraw drops what is pending of a rule and may be stored only by the service that has adopted a driver. Storing is interrupted, and what is being stored is
// dropped if that fails. The lock is held.
func (r *Service) withdraw(b *backlog, driver string) {
	may := func(t *transition) bool { return t.by.valid == nil || t.by.driver != driver }
	if !slices.ContainsFunc(b.pending, func(element *list.Element) bool { return !may(transitionOf(element)) }) {
		return
	}
	var raised, last *transition // the one that is not cleared yet, and the last that is dropped
	kept := b.pending[:b.inFlight:b.inFlight]
	for i, element := range b.pending {
		t := transitionOf(element)
		switch {
		case may(t):
			if i >= b.inFlight {
				kept = append(kept, element)
			}
			continue
		case i < b.inFlight:
			t.withdrawn = true
			r.interrupt() // or it is stored when the database is back, however late
		default:
			r.queue.Remove(element)
		}
		last = t
		switch {
		case t.signal.Raise != nil && raised == nil:
			raised = t
		case t.signal.Raise == nil && raised != nil:
			if raised.withdrawn {
				raised.ended = t.signal.At
			} else {
				r.queueLate(b.rule, raised.signal.Raise, t.signal.At)
			}
			raised = nil
		}
	}
	b.pending = kept
	if e := r.rules[b.rule]; last.signal.Raise == nil && (e == nil || e.tag == nil || e.tag.reason == tags.ReasonRemoved) {
		r.queueSignal(b.rule, last.signal) // it may be that no service evaluates it
	}
	r.serial++
	r.show(b)
	r.left.dropped = true
	poke(r.unsaved)
}

// dropWithdrawn removes what was withdrawn of a backlog while it was being stored, which has failed. The lock is held.
func (r *Service) dropWithdrawn(b *backlog) {
	before := len(b.pending)
	b.pending = slices.DeleteFunc(b.pending, func(element *list.Element) bool {
		t := transitionOf(element)
		if !t.withdrawn {
			return false
		}
		r.queue.Remove(element)
		if t.signal.Raise != nil && !t.ended.IsZero() {
			r.queueLate(b.rule, t.signal.Raise, t.ended)
		}
		return true
	})
	if len(b.pending) < before {
		r.serial++
		r.show(b)
	}
}

// adoptMoved adopts the rules of tags that have come to a driver of this service.
func (r *Service) adoptMoved(ctx context.Context) error {
	r.mu.Lock()
	moved := r.unadopted
	r.unadopted = false
	r.mu.Unlock()
	if !moved {
		return nil
	}
	err := r.adoptIdle(ctx)
	if err != nil {
		r.mu.Lock()
		r.unadopted = true
		r.mu.Unlock()
	}
	return err
}

// adoptIdle begins to evaluate the idle rules of the drivers that were adopted.
func (r *Service) adoptIdle(ctx context.Context) error {
	r.adopting.Lock()
	defer r.adopting.Unlock()
	r.mu.Lock()
	none := len(r.toAdopt()) == 0 // another call may have been faster
	r.mu.Unlock()
	if none {
		return nil
	}
	raised, err := r.raised(ctx)
	if err != nil {
		return err
	}
	kept, err := r.readStates(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.recheckAt = now.Add(adoptionRecheck)
	for _, e := range r.toAdopt() {
		lasts, active := raised[e.rule.ID]
		e.idle, e.confirmed = false, false
		lasts, active = r.takeLeft(e, lasts, active)
		r.restore(e, kept[e.rule.ID], lasts, now)
		if active && !lasts && !e.rule.Latching {
			r.transit(e, alarms.Signal{At: now})
		}
		if e.tag.known {
			r.evaluate(e, now)
		}
	}
	return nil
}

// toAdopt returns the idle rules of the drivers that were adopted. The lock is held.
func (r *Service) toAdopt() (list []*evaluation) {
	for _, e := range r.rules {
		if e.idle && e.tag != nil && r.adopted(e.tag) {
			list = append(list, e)
		}
	}
	return list
}

// adoptionOf returns the right by which this service stores transitions of a rule; zero if it always may. The lock is held.
func (r *Service) adoptionOf(e *evaluation) adoption {
	if e.idle || e.tag == nil || e.tag.def == nil {
		return adoption{}
	}
	return r.drivers[e.tag.def.Driver]
}
