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
)

// recheckAfter is when alarms are looked at again after a rule was changed: whoever else judged the rule
// has stored by then that the alarm of the old rule is over, perhaps after this one raised the new rule's.
const recheckAfter = 2 * time.Second

// follow takes over what others change in the store, until ctx ends.
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
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			r.log.Error("changes of alarm rules cannot be read", "error", err)
		case err == nil && failing:
			r.log.Info("changes of alarm rules are read again")
		}
		failing = err != nil
	}
}

// announce has others look at their alarms again after some have ended here because their tags were removed:
// another engine may have the tag and judge it. What makes them look is that a rule was changed.
func (r *Service) announce(ctx context.Context, rule string) error {
	err := r.store.UpdateRule(ctx, rule, func(*Rule) error { return nil })
	if errors.Is(err, ErrNotFound) { // a removal is a change as well
		return nil
	}
	return err
}

// catchUp reads the rules when any was changed, and carries out what is different.
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

// readable makes the evaluation of a rule that was read, or counts it among those that cannot be judged.
// A rule that could be read before continues as it was. The lock is held.
func (r *Service) readable(rule Rule) (*evaluation, bool) {
	err := errUnreadable
	if !rule.Unreadable {
		var e *evaluation
		if e, err = newEvaluation(rule); err == nil {
			if r.broken[rule.ID] && r.rules[rule.ID] == nil {
				r.drop(rule.ID, "") // nobody knows what its alarm was about
			}
			delete(r.broken, rule.ID)
			return e, true
		}
	}
	if !r.broken[rule.ID] {
		r.broken[rule.ID] = true
		r.note(slog.LevelError, "an alarm rule is passed over; its alarm stays as it is", "ruleId", rule.ID, "error", err)
	}
	return nil, false
}

// recheck raises alarms again that others have cleared, since they judged a rule as it was before. The
// alarm of a rule that this one judges stands while what is wrong lasts. The same goes for what others have
// cleared since they have lost the tag.
func (r *Service) recheck(ctx context.Context) error {
	if r.settled.IsZero() {
		return nil
	}
	if left := r.settled.Sub(r.now()); left > 0 && left <= recheckAfter {
		return nil
	}
	raised, err := r.raised(ctx)
	if err != nil {
		return err
	}
	r.settled = time.Time{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.rules {
		if raised[id] || !e.confirmed || r.pending(id) {
			continue
		}
		switch e.phase {
		case PhaseActive:
			if !e.known { // whoever sees the tag may be right
				e.doubt = true
				continue
			}
			r.raise(e, r.now())
		case PhaseOffDelay: // it is over already
			r.clear(e, r.now())
			r.timers.set(e)
		}
	}
	return nil
}

// raised returns the ids of the rules whose alarm is active, and reports whether it has not returned to normal.
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
