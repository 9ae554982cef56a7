package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alarms"
)

// Add stores a new rule, with a new ID when it has none, and starts to evaluate it. The error may be
// an ErrInvalidRule, also for a kind that the data type of the tag excludes, or an ErrRuleExists. A tag that
// is not known is taken; see Status.
func (r *Service) Add(ctx context.Context, rule Rule) (Rule, error) {
	if rule.ID == "" {
		rule.ID = r.newID()
	}
	e, err := newEvaluation(rule)
	if err == nil {
		err = r.fits(&rule)
	}
	if err != nil {
		return Rule{}, err
	}
	r.editing.Lock()
	defer r.editing.Unlock()
	if err := r.store.AddRule(ctx, rule); err != nil {
		return Rule{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(e)
	return rule.clone(), nil
}

// Update changes a rule in one step; ID cannot be changed. Where the evaluation stands is kept, unless
// what the rule looks at changes: then its alarm is cleared and evaluation starts again. A rule that is
// disabled has its alarm cleared. A higher severity takes effect on an alarm that is active; a lower one, the
// message, the group and latching count from the next time, while what does not latch any more ends when it
// is normal. The error may be an ErrRuleNotFound, an ErrInvalidRule or update's.
func (r *Service) Update(ctx context.Context, id string, update func(*Rule) error) (Rule, error) {
	r.editing.Lock()
	defer r.editing.Unlock()
	var e *evaluation
	err := r.store.UpdateRule(ctx, id, func(rule *Rule) error {
		if err := update(rule); err != nil {
			return err
		}
		rule.ID = id
		var err error
		if e, err = newEvaluation(*rule); err != nil {
			return err
		}
		return r.fits(rule)
	})
	if err != nil {
		return Rule{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(e)
	return e.rule.clone(), nil
}

// Remove removes a rule and ends its alarm, a latching one too; the journal says who has removed it, empty
// for the system. The error may be an ErrRuleNotFound.
func (r *Service) Remove(ctx context.Context, id, by string) error {
	r.editing.Lock()
	defer r.editing.Unlock()
	if err := r.store.RemoveRule(ctx, id); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id, by)
	return nil
}

const (
	commentRemoved   = "the rule was removed"
	commentUnlatched = "the rule does not latch any more"
)

// drop takes a rule out of memory and ends its alarm. The lock is held.
func (r *Service) drop(id, by string) {
	removed := alarms.Signal{At: r.now(), Reset: true, By: by, Comment: commentRemoved}
	if r.broken[id] {
		delete(r.broken, id)
		r.transit(&evaluation{rule: Rule{ID: id}, timer: -1}, removed)
	}
	if e := r.rules[id]; e != nil {
		if e.rule.Latching || e.phase == PhaseActive || e.phase == PhaseOffDelay {
			r.transit(e, removed)
		}
		r.leave(e)
		delete(r.rules, id)
	}
}

// put replaces a rule in memory. The lock is held.
func (r *Service) put(e *evaluation) {
	now := r.now()
	old, kept := r.rules[e.rule.ID], false
	r.rules[e.rule.ID] = e
	switch {
	case old == nil:
	case old.rule.Enabled && e.rule.Enabled && old.rule.sees(&e.rule):
		e.phase, e.since, e.over, e.points = old.phase, old.since, old.over, old.points
		e.doubt = old.doubt
		e.touch(r) // the old one's state may not be stored yet
		kept = true
	default:
		r.clearAlarm(old, now)
		e.touch(r)
	}
	if old != nil && old.rule.Latching && !e.rule.Latching && (e.phase == PhaseNormal || e.phase == PhaseOnDelay) {
		r.transit(e, alarms.Signal{At: now, Comment: commentUnlatched})
	}
	before := r.serial
	r.join(e, now)
	if old != nil {
		r.leave(old) // only now, so that what is known of the tag stays
	}
	if kept {
		r.applyUpdate(old, e, now, r.serial != before)
	}
}

// goOn brings what stands by the old form of a rule in line with the new one, which may have raised or
// cleared its alarm already. The lock is held.
func (r *Service) applyUpdate(old, e *evaluation, now time.Time, moved bool) {
	// A delay that runs is measured again from when it began, also where nothing can be judged now.
	if (e.phase == PhaseOnDelay || e.phase == PhaseOffDelay) && old.confirmed && !e.confirmed {
		e.confirmed = true
		r.resume(e, now)
		if r.timers.set(e) {
			poke(r.wake)
		}
	}
	if (e.phase == PhaseActive || e.phase == PhaseOffDelay) && e.rule.Severity > old.rule.Severity && !moved {
		r.transit(e, e.alarm(now))
	}
}

// sees reports whether two rules look at the same thing.
func (r *Rule) sees(other *Rule) bool {
	return r.Tag == other.Tag && r.Kind == other.Kind && r.Setpoint == other.Setpoint && r.SetpointTag == other.SetpointTag &&
		r.Window == other.Window && fmt.Sprint(r.States) == fmt.Sprint(other.States)
}

// retire clears a rule's alarm.
func (r *Service) clearAlarm(e *evaluation, now time.Time) {
	if e.phase == PhaseActive || e.phase == PhaseOffDelay {
		r.transit(e, alarms.Signal{At: now})
	}
	e.phase = PhaseNormal
}
