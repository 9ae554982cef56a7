package alarms

import (
	"cmp"
	"context"
	"errors"
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
		urgent, dirty := len(r.waiting) > 0 || r.ended != "", len(r.dirty) > 0
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

// flush stores what waits: transitions first, then the states of rules whose transitions are stored. It is
// called by one goroutine at a time.
func (r *Rules) flush(ctx context.Context) error {
	r.mu.Lock()
	ended := r.ended
	r.ended = ""
	r.mu.Unlock()
	err := r.flushTransitions(ctx)
	if err == nil {
		err = r.flushStates(ctx)
	}
	if err == nil && ended != "" {
		err = r.announce(ctx, ended)
	}
	r.mu.Lock()
	if err != nil {
		r.ended = cmp.Or(r.ended, ended)
	}
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

// attempt is transitions that are given to the target together.
type attempt struct {
	of      []*evaluation // by transition; one of several transitions is there several times
	signals []Signal
	failed  error // of an attempt whose outcome is not known; nil for none
}

func (r *Rules) flushTransitions(ctx context.Context) error {
	for {
		if r.unsure.failed != nil {
			stored, err := settle(ctx, r.unsure.failed)
			if err != nil {
				return err
			}
			r.finish(r.unsure, stored)
			r.unsure = attempt{}
		}
		next := r.nextAttempt()
		if len(next.signals) == 0 {
			return nil
		}
		_, err := r.target.Apply(ctx, next.signals)
		if errors.Is(err, ErrOutcomeUnknown) {
			next.failed = err
			r.unsure = next
			return err
		}
		r.finish(next, err == nil)
		if err != nil {
			return err
		}
	}
}

// nextAttempt takes what waits, oldest first.
func (r *Rules) nextAttempt() attempt {
	type item struct {
		e *evaluation
		t transition
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var items []item
	for _, e := range r.waiting {
		for _, t := range e.pending {
			items = append(items, item{e, t})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.t.serial, b.t.serial) })
	items = items[:min(len(items), flushBatch)]
	next := attempt{of: make([]*evaluation, len(items)), signals: make([]Signal, len(items))}
	for i, it := range items {
		next.of[i], next.signals[i] = it.e, it.t.signal
		it.e.inFlight++
	}
	return next
}

// finish takes what was stored out of what waits.
func (r *Rules) finish(a attempt, stored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range a.of {
		e.inFlight--
		if stored {
			e.pending = e.pending[1:]
			r.stats.Transitions++
		}
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(e *evaluation) bool {
		e.queued = len(e.pending) > 0
		return !e.queued
	})
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
