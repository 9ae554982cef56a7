package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alarms"
)

// Add stores a new rule and starts to evaluate it. If it has no ID, it gets a new one. The error may be an ErrInvalid,
// also if the data type of the tag excludes the kind, or an ErrExists. The tag need not exist; see Status.
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

// Update changes a rule atomically, except for its ID. Evaluation continues unless what the rule observes changes; then
// its alarm is cleared and evaluation starts again. The alarm of a rule that is disabled is cleared. A higher severity
// applies to an active alarm; a lower one, the message, the group and a new latching apply from the next occurrence. If
// latching is removed, a latched alarm ends if its condition is normal. The error may be an ErrNotFound, an ErrInvalid
// or that of update.
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

// Remove removes a rule and ends its alarm, a latched one too. by is the name in the journal, empty for the system. match
// returns an error unless the rule may be removed as it is; nil allows any. The error may be that of match or an
// ErrNotFound.
func (r *Service) Remove(ctx context.Context, id, by string, match func(Rule) error) error {
	r.editing.Lock()
	defer r.editing.Unlock()
	if err := r.store.RemoveRule(ctx, id, match); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id, by)
	return nil
}

const (
	commentRemoved    = "the rule was removed"
	commentUnlatched  = "the rule is no longer latching"
	commentTagRemoved = "the tag was removed"
)

// drop removes a rule from memory and ends its alarm. The lock is held.
func (r *Service) drop(id, by string) {
	removed := alarms.Signal{At: r.now(), Reset: true, By: by, Comment: commentRemoved}
	if r.broken[id] {
		delete(r.broken, id)
		r.transit(&evaluation{rule: Rule{ID: id}, timer: -1}, removed)
	}
	if e := r.rules[id]; e != nil {
		if e.rule.Latching || e.idle || e.phase == PhaseActive || e.phase == PhaseOffDelay { // of an idle one it is not known
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
	if r.drivers != nil && r.putIdle(old, e, now) {
		return
	}
	switch {
	case old == nil:
	case old.rule.Enabled && e.rule.Enabled && old.rule.sees(&e.rule):
		e.phase, e.since, e.over, e.points = old.phase, old.since, old.over, old.points
		e.doubt = old.doubt
		e.keepOutage(old)
		e.touch(r) // the state of the old one may not be stored yet
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
	if e.outage != nil && e.outage.replay != nil {
		r.replaying[e] = struct{}{}
	}
	if old != nil {
		r.leave(old) // only now, so that the sample of the tag is kept
	}
	if kept {
		r.applyUpdate(old, e, now, r.serial != before)
	}
}

// applyUpdate brings the delay and the alarm of a changed rule in line with its new form. moved reports whether that has
// already raised or cleared the alarm. The lock is held.
func (r *Service) applyUpdate(old, e *evaluation, now time.Time, moved bool) {
	// A running delay is measured from its begin, even if nothing can be evaluated now.
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

// sees reports whether two rules observe the same condition, apart from their limits.
func (r *Rule) sees(other *Rule) bool {
	return r.Tag == other.Tag && r.Kind == other.Kind && r.Setpoint == other.Setpoint && r.SetpointTag == other.SetpointTag &&
		r.Window == other.Window && fmt.Sprint(r.States) == fmt.Sprint(other.States)
}

// clearAlarm clears the alarm of a rule.
func (r *Service) clearAlarm(e *evaluation, now time.Time) {
	if e.phase == PhaseActive || e.phase == PhaseOffDelay {
		r.transit(e, alarms.Signal{At: now})
	}
	e.phase = PhaseNormal
}
