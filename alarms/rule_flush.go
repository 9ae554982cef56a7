package alarms

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxPending = 8    // transitions of one rule that wait, beyond those that are being stored
	flushBatch = 2000 // transitions that are stored in one call
)

// clip makes a message one that an alarm may have.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxMessage {
		return s
	}
	s = s[:maxMessage]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// transit queues a raise or a clear of a rule's alarm. A clear ends the alarm, unless the rule is latching.
// The lock is held.
func (r *Rules) transit(e *evaluation, s Signal) {
	r.serial++
	s.Key = ruleKey + e.rule.ID
	s.End = s.End || s.Raise == nil && !e.rule.Latching
	t := transition{serial: r.serial, signal: s}
	last := len(e.pending) - 1
	if len(e.pending)-e.inFlight >= maxPending && (e.pending[last].signal.Raise == nil) != (s.Raise == nil) {
		e.pending = e.pending[:last] // the one before it says the same as this one
		if s.End {
			before := &e.pending[last-1].signal
			before.End, before.By, before.Comment = true, s.By, s.Comment
		}
		if r.stats.Folded == 0 {
			r.note(slog.LevelWarn, "alarm transitions are folded, because too many wait to be stored", "ruleId", e.rule.ID)
		}
		r.stats.Folded += 2
		return
	}
	e.pending = append(e.pending, t)
	if !e.queued {
		e.queued = true
		r.waiting = append(r.waiting, e)
		r.signal()
	}
}

// note has a line logged by run: the log may be slow, and whoever holds the lock may be a driver. The lock
// is held.
func (r *Rules) note(level slog.Level, msg string, args ...any) {
	r.notes = append(r.notes, func() { r.log.Log(context.Background(), level, msg, args...) })
	r.signal()
}

// touch has a rule's state stored soon. The lock is held.
func (e *evaluation) touch(r *Rules) {
	if !e.unsaved {
		e.unsaved = true
		r.dirty = append(r.dirty, e)
		r.signal()
	}
}

func (r *Rules) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run ends delays and stores what follows, until ctx ends.
func (r *Rules) run(ctx, storing context.Context) {
	defer close(r.done)
	var failed, saved time.Time // when storing failed, zero when it did not, and when states were stored
	for ctx.Err() == nil {
		r.mu.Lock()
		now := r.now()
		r.expireDue(now)
		wait := time.Minute
		if next := r.timers.next(); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
		urgent, dirty := len(r.waiting) > 0, len(r.dirty) > 0
		notes := r.notes
		r.notes = nil
		r.mu.Unlock()
		for _, log := range notes {
			log()
		}
		switch {
		case !failed.IsZero() && now.Sub(failed) < r.retry:
			wait = min(wait, r.retry-now.Sub(failed))
		case urgent || dirty && now.Sub(saved) >= r.every:
			failed = time.Time{}
			if err := r.flush(storing); err != nil {
				failed = r.now()
			}
			saved = r.now()
			continue
		case dirty:
			wait = min(wait, r.every-now.Sub(saved))
		}
		timer := time.NewTimer(max(wait, 0))
		select {
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// expireDue looks at the rules whose time has come. The lock is held.
func (r *Rules) expireDue(now time.Time) {
	for next := r.timers.next(); !next.IsZero() && !next.After(now); next = r.timers.next() {
		e := r.timers[0]
		if !e.recheck.IsZero() && !e.recheck.After(now) {
			r.evaluate(e, now)
			continue
		}
		r.expire(e)
		r.timers.set(e)
	}
}

// flush stores what waits: transitions first, then the states of rules whose transitions are stored.
func (r *Rules) flush(ctx context.Context) error {
	err := r.flushTransitions(ctx)
	if err == nil {
		err = r.flushStates(ctx)
	}
	r.mu.Lock()
	was, folded := r.stats.Err, r.stats.Folded
	r.stats.Err = err
	r.mu.Unlock()
	if err != nil && was == nil && ctx.Err() == nil {
		r.log.Error("alarms of rules cannot be stored and wait", "error", err)
	} else if err == nil && was != nil {
		r.log.Info("alarms of rules are stored again", "folded", folded)
	}
	return err
}

func (r *Rules) flushTransitions(ctx context.Context) error {
	type item struct {
		e *evaluation
		t transition
	}
	for {
		r.mu.Lock()
		var items []item
		for _, e := range r.waiting {
			for _, t := range e.pending {
				items = append(items, item{e, t})
			}
		}
		slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.t.serial, b.t.serial) })
		items = items[:min(len(items), flushBatch)]
		signals := make([]Signal, len(items))
		for i, it := range items {
			signals[i] = it.t.signal
			it.e.inFlight++
		}
		r.mu.Unlock()
		if len(items) == 0 {
			return nil
		}
		_, err := r.target.Apply(ctx, signals)
		r.mu.Lock()
		for _, it := range items {
			it.e.inFlight--
			if err == nil {
				it.e.pending = it.e.pending[1:]
				r.stats.Transitions++
			}
		}
		r.waiting = slices.DeleteFunc(r.waiting, func(e *evaluation) bool {
			e.queued = len(e.pending) > 0
			return !e.queued
		})
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func (r *Rules) flushStates(ctx context.Context) error {
	r.mu.Lock()
	var states []RuleState
	var taken, kept []*evaluation
	for _, e := range r.dirty {
		switch {
		case r.states == nil || r.rules[e.rule.ID] != e:
			e.unsaved = false
		case len(e.pending) > 0:
			kept = append(kept, e)
		default:
			e.unsaved = false
			taken = append(taken, e)
			states = append(states, RuleState{RuleID: e.rule.ID, Phase: e.phase, Since: stamp(e.since)})
		}
	}
	r.dirty = kept
	r.mu.Unlock()
	if len(states) == 0 {
		return nil
	}
	slices.SortFunc(states, func(a, b RuleState) int { return strings.Compare(a.RuleID, b.RuleID) })
	err := r.states.PutRuleStates(ctx, states)
	if err != nil {
		r.mu.Lock()
		for _, e := range taken {
			e.touch(r)
		}
		r.mu.Unlock()
	}
	return err
}
