package rules

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms"
)

// leftFor is how long the signals of the last run wait for their driver to be adopted here, while the stores answer. After that it is taken to be another
// service's.
const leftFor = time.Minute

// leftovers are the signals that an earlier run could not store, by rule ID, of drivers that other services may have adopted since. Until that is known, they are
// neither stored nor forgotten.
type leftovers struct {
	signals map[string][]Pending
	since   time.Time
	dropped bool // PendingStore has some that were dropped
}

func (l *leftovers) add(rule string, s Pending, now time.Time) {
	if l.signals == nil {
		l.signals, l.since = make(map[string][]Pending), now
	}
	l.signals[rule] = append(l.signals[rule], s)
}

func (l *leftovers) list() (all []Pending) {
	for _, rule := range slices.Sorted(maps.Keys(l.signals)) {
		all = append(all, l.signals[rule]...)
	}
	return all
}

// takeLeft queues what the last run has left of a rule that is adopted, of which the target has an active alarm whose condition lasts, or not. It returns
// how that is now. The lock is held.
func (r *Service) takeLeft(e *evaluation, lasts, active bool) (bool, bool) {
	signals := r.left.signals[e.rule.ID]
	if len(signals) == 0 {
		return lasts, active
	}
	by := r.adoptionOf(e)
	if slices.ContainsFunc(signals, func(s Pending) bool { return s.Driver != by.driver || s.Epoch+1 != by.epoch }) {
		r.dropLeft(e.rule.ID, active)
		return lasts, active
	}
	delete(r.left.signals, e.rule.ID)
	r.serial++
	for _, s := range signals {
		r.enqueue(r.backlog(e.rule.ID), s.Signal, by)
		lasts = s.Raise != nil
		active = lasts || e.rule.Latching && active
	}
	return lasts, active
}

// dropLeft ends the wait for a driver that another service has adopted since: that service judges what lasts. What it cannot know is stored as over: occurrences that
// were, and one that the target shows no sign of, though its end was not seen. The lock is held.
func (r *Service) dropLeft(rule string, active bool) {
	var raised *alarms.Alarm // that is not cleared yet
	for _, s := range r.left.signals[rule] {
		switch {
		case s.Raise != nil && raised == nil:
			raised = s.Raise
		case s.Raise == nil && raised != nil:
			r.queueLate(rule, raised, s.At)
			raised = nil
		}
	}
	if raised != nil && !active {
		r.note(slog.LevelWarn, "the end of an alarm was not seen", "ruleId", rule, "raisedAt", raised.At)
		r.queueLate(rule, raised, raised.At)
	}
	delete(r.left.signals, rule)
	r.left.dropped = true
	r.serial++
	poke(r.unsaved)
}

// awaitAdoption lets the signals of the last run wait anew.
func (r *Service) awaitAdoption() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left.since = r.now()
}

// dropLeftovers is dropLeft of all that were not adopted in time.
func (r *Service) dropLeftovers(ctx context.Context) error {
	r.mu.Lock()
	waited := r.now().Sub(r.left.since)
	wait := len(r.left.signals) == 0 || waited >= 0 && waited < leftFor
	r.mu.Unlock()
	if wait {
		return nil
	}
	raised, err := r.raised(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for rule := range r.left.signals {
		_, active := raised[rule]
		r.dropLeft(rule, active)
	}
	return nil
}
