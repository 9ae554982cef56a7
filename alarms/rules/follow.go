package rules

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

// recheckAfter is when alarms are checked after a rule was changed. By then, other services have cleared the alarm of
// the old rule, possibly after this one raised that of the new rule.
const recheckAfter = 2 * time.Second

// adoptionRecheck is when alarms are checked after a driver was adopted. What the service that had it before was storing when it lost the driver may have arrived
// after the alarms were read here.
const adoptionRecheck = 15 * time.Second

// follow applies the changes of other services until ctx ends.
func (r *Service) follow(ctx context.Context) {
	failing := false
	ticker := time.NewTicker(r.pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := r.catchUp(ctx)
		if err == nil {
			err = r.recheck(ctx)
		}
		if err == nil {
			err = r.adoptMoved(ctx)
		}
		if err == nil {
			err = r.dropLeftovers(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.awaitAdoption() // nobody can adopt a driver meanwhile
		}
		switch {
		case err != nil && !failing:
			r.log.Error("failed to read changes of alarm rules; retrying", "error", err)
		case err == nil && failing:
			r.log.Info("reading changes of alarm rules resumed")
		}
		failing = err != nil
	}
}

// announce makes other services check their alarms after some have ended here because their tags were removed: another
// engine may have the tag. An update of the rule makes them check.
func (r *Service) announce(ctx context.Context, rule string) error {
	err := r.store.UpdateRule(ctx, rule, func(*Rule) error { return nil })
	if errors.Is(err, ErrNotFound) { // its removal was a change too
		return nil
	}
	return err
}

// catchUp reads the rules if any was changed, and applies the differences.
func (r *Service) catchUp(ctx context.Context) error {
	version, err := r.versions.RulesVersion(ctx)
	if err != nil || version == r.version {
		return err
	}
	r.editing.Lock()
	defer r.editing.Unlock()
	list, err := r.store.Rules(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	there := make(map[string]bool, len(list))
	for i := range list {
		rule := list[i].clone()
		there[rule.ID] = true
		e, ok := r.readable(rule)
		if old := r.rules[rule.ID]; ok && (old == nil || !reflect.DeepEqual(old.rule, rule)) {
			r.put(e)
		}
	}
	for _, ids := range []iter.Seq[string]{maps.Keys(r.rules), maps.Keys(r.broken)} {
		for id := range ids {
			if !there[id] {
				r.drop(id, "")
			}
		}
	}
	r.version, r.settled = version, r.now().Add(recheckAfter)
	return nil
}

// readable returns the evaluation of a stored rule, or counts it as unreadable. A rule that was readable before
// continues with its last form. The lock is held.
func (r *Service) readable(rule Rule) (*evaluation, bool) {
	err := errUnreadable
	if !rule.Unreadable {
		var e *evaluation
		if e, err = newEvaluation(rule); err == nil {
			if r.broken[rule.ID] && r.rules[rule.ID] == nil {
				r.drop(rule.ID, "") // its alarm may be about another condition
			}
			delete(r.broken, rule.ID)
			return e, true
		}
	}
	if !r.broken[rule.ID] {
		r.broken[rule.ID] = true
		r.note(slog.LevelError, "alarm rule cannot be read and is not evaluated", "ruleId", rule.ID, "error", err)
	}
	return nil, false
}

// due reports whether a time has come at which to check the alarms, zero for never. A time further ahead than it was set is of a clock that was set back.
func due(at, now time.Time, ahead time.Duration) bool {
	left := at.Sub(now)
	return !at.IsZero() && (left <= 0 || left > ahead)
}

// recheck raises alarms again that other services have cleared because they evaluated the old form of a rule, or lost
// its tag, while the condition is true here. After a driver was adopted, it also ends alarms of conditions that are normal.
func (r *Service) recheck(ctx context.Context) error {
	r.mu.Lock()
	at := r.recheckAt
	r.mu.Unlock()
	adopted := due(at, r.now(), adoptionRecheck)
	if !adopted && !due(r.settled, r.now(), recheckAfter) {
		return nil
	}
	raised, err := r.raised(ctx)
	if err != nil {
		return err
	}
	r.settled = time.Time{}
	r.mu.Lock()
	defer r.mu.Unlock()
	if adopted && r.recheckAt.Equal(at) {
		r.recheckAt = time.Time{}
	}
	for id, e := range r.rules {
		if !e.confirmed || e.idle || r.pending(id) {
			continue
		}
		if raised[id] {
			if adopted && e.known && !e.alarming() {
				r.transit(e, alarms.Signal{At: r.now()})
			}
			continue
		}
		switch e.phase {
		case PhaseActive:
			if !e.known { // the service that sees the tag may be right
				e.doubt = true
				continue
			}
			r.raise(e, r.now())
		case PhaseOffDelay: // the condition is normal already
			r.clear(e, r.now())
			r.timers.set(e)
		}
	}
	return nil
}

// raised returns the ids of the rules whose alarm is active; the value reports whether the condition has not returned to
// normal.
func (r *Service) raised(ctx context.Context) (map[string]bool, error) {
	raised := make(map[string]bool)
	for o, err := range r.target.EachActive(ctx) {
		if err != nil {
			return nil, err
		}
		if id, ok := strings.CutPrefix(o.Key, ruleKey); ok {
			raised[id] = o.ReturnedAt.IsZero()
		}
	}
	return raised, nil
}
