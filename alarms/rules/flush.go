package rules

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

const (
	maxPending = 8      // pending transitions of a rule, beyond those being stored
	maxQueue   = 20_000 // pending transitions of all rules beyond which each rule has two: a raise and its clear
	flushBatch = 2000   // transitions stored in one call
)

// backlog has the pending transitions of a rule.
type backlog struct {
	rule     string          // rule ID
	pending  []*list.Element // in Service.queue, oldest first
	inFlight int             // how many of pending are being stored
	changed  bool            // it is in Service.unshown
	shown    bool            // the target lists what is pending
	late     bool            // it is in Service.lateBacklogs
}

// transition is a pending raise or clear. The values of Service.queue are *transition.
type transition struct {
	of     *backlog
	signal alarms.Signal
	number uint64   // see Service.queued
	by     adoption // by which this service may store it; zero: it always may

	withdrawn bool      // it was being stored when it was withdrawn
	ended     time.Time // when the occurrence ended whose raise it is, if its clear was withdrawn, too
}

func transitionOf(e *list.Element) *transition {
	return e.Value.(*transition) //nolint:forcetypeassert // the queue holds nothing else
}

// transit queues a raise or a clear of a rule's alarm. A clear ends the alarm, unless the rule is latching.
// The lock is held.
func (r *Service) transit(e *evaluation, s alarms.Signal) {
	r.serial++
	s = s.Shift(r.ahead())
	s.Key = ruleKey + e.rule.ID
	s.Reset = s.Reset || s.Raise == nil && !e.rule.Latching
	b := r.backlog(e.rule.ID)
	last, room := len(b.pending)-1, maxPending
	if r.queue.Len() >= maxQueue {
		room = 2
	}
	if len(b.pending)-b.inFlight >= room && (transitionOf(b.pending[last]).signal.Raise == nil) != (s.Raise == nil) {
		r.queue.Remove(b.pending[last]) // the one before it has the same effect as s
		b.pending = b.pending[:last]
		if s.Reset {
			before := &transitionOf(b.pending[last-1]).signal
			before.Reset, before.By, before.Comment = true, s.By, s.Comment
		}
		if r.stats.Coalesced == 0 {
			r.note(slog.LevelWarn, "alarm transitions coalesced: too many are pending", "ruleId", e.rule.ID)
		}
		r.stats.Coalesced += 2
		return
	}
	r.enqueue(b, s, r.adoptionOf(e))
}

// queueSignal appends a signal of a rule to the queue that may always be stored. The lock is held.
func (r *Service) queueSignal(rule string, s alarms.Signal) {
	r.enqueue(r.backlog(rule), s, adoption{})
}

// enqueue appends a signal to a backlog and to the queue. The lock is held.
func (r *Service) enqueue(b *backlog, s alarms.Signal, by adoption) {
	r.queued++
	b.pending = append(b.pending, r.queue.PushBack(&transition{of: b, signal: s, number: r.queued, by: by}))
	r.storable = r.storable || by.stands()
	poke(r.unsaved)
}

// backlog returns the backlog of a rule, to be changed. The lock is held.
func (r *Service) backlog(rule string) *backlog {
	b := r.backlogs[rule]
	if b == nil {
		b = &backlog{rule: rule}
		r.backlogs[rule] = b
	}
	r.show(b)
	return b
}

// pending reports whether a rule has pending transitions. The lock is held.
func (r *Service) pending(rule string) bool {
	b := r.backlogs[rule]
	return b != nil && len(b.pending) > 0
}

// note schedules a log line, which run writes: logging may be slow, and the caller, who holds the lock, may be a driver.
func (r *Service) note(level slog.Level, msg string, args ...any) {
	r.notes = append(r.notes, func() { r.log.Log(context.Background(), level, msg, args...) })
	poke(r.wake)
}

// touch schedules the state of a rule to be stored. The lock is held.
func (e *evaluation) touch(r *Service) {
	if !e.unsaved && e.replay == nil && !e.idle {
		e.unsaved = true
		r.dirty = append(r.dirty, e)
		poke(r.unsaved)
	}
}

// poke puts a token into a channel of capacity one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep returns after d, or earlier after a poke or when ctx ends.
func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// run ends delays, logs, and lists what cannot be stored, until ctx ends. It never waits for a write.
func (r *Service) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		now := r.now()
		r.expireDue(now)
		wait := time.Minute
		if next := r.timers.next(); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
		wait = min(wait, r.finishIdle(now))
		pending, again := r.toShow(now)
		notes := r.notes
		r.notes = nil
		r.mu.Unlock()
		for _, log := range notes {
			log()
		}
		if len(pending) > 0 {
			r.shower.ShowPending(ctx, pending)
		}
		sleep(ctx, r.wake, min(wait, again))
	}
}

// keep stores transitions and states until ctx ends.
func (r *Service) keep(ctx, storing context.Context) {
	var failed, saved time.Time // when storing failed, zero when it did not, and when states were stored
	for ctx.Err() == nil {
		r.mu.Lock()
		now := r.now()
		urgent := r.storable || r.ended != "" || r.left.dropped
		idle, interval := r.queue.Len() == 0, r.retryInterval
		if len(r.dirty) > 0 {
			idle, interval = false, r.flushInterval
		}
		r.mu.Unlock()
		wait, since := time.Minute, now.Sub(saved)
		switch {
		case !failed.IsZero() && now.Sub(failed) >= 0 && now.Sub(failed) < r.retryInterval:
			wait = r.retryInterval - now.Sub(failed)
		case urgent || !idle && (since < 0 || since >= interval):
			failed = time.Time{}
			err := r.flush(storing)
			saved = r.now()
			if err != nil {
				failed = saved
			}
			continue
		case !idle:
			wait = interval - since
		}
		sleep(ctx, r.unsaved, wait)
	}
}

// expireDue handles the timers that are due. The lock is held.
func (r *Service) expireDue(now time.Time) {
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

// flush stores pending transitions, and then the states of rules without pending ones. One goroutine calls it at a time.
func (r *Service) flush(ctx context.Context) error {
	r.mu.Lock()
	ended := r.ended
	r.ended, r.left.dropped, r.storing = "", false, r.now()
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
	was, coalesced := r.stats.Err, r.stats.Coalesced
	r.stats.Err, r.storing = err, time.Time{}
	poke(r.wake) // to update what is listed as pending
	r.mu.Unlock()
	r.savePending(err)
	if err != nil && was == nil && ctx.Err() == nil {
		r.log.Error("failed to store rule alarms; retrying", "error", err)
	} else if err == nil && was != nil {
		r.log.Info("storing rule alarms resumed", "coalesced", coalesced)
	}
	return err
}

// attempt is a batch of transitions that is applied to the target.
type attempt struct {
	of      []*backlog // by transition, so a backlog may occur several times
	signals []alarms.Signal
	failed  error // error of an attempt whose outcome is unknown; nil for none
}

func (r *Service) flushTransitions(ctx context.Context) error {
	for {
		if r.unsure.failed != nil {
			stored, err := alarms.ResolveOutcome(ctx, r.unsure.failed)
			if err != nil {
				return err
			}
			r.finish(r.unsure, stored)
			r.unsure = attempt{}
		}
		storing, cancel := context.WithCancel(ctx)
		next := r.nextAttempt(cancel)
		if len(next.signals) == 0 {
			cancel()
			return nil
		}
		_, err := r.target.Apply(storing, next.signals)
		cancel()
		if errors.Is(err, alarms.ErrOutcomeUnknown) {
			next.failed = err
			r.unsure = next
			return err
		}
		r.finish(next, err == nil)
		if err != nil && !errors.Is(err, alarms.ErrSignalLapsed) { // those that lapsed are no part of the next attempt
			return err
		}
	}
}

// nextAttempt returns the oldest pending transitions. interrupt ends the call that stores them.
func (r *Service) nextAttempt(interrupt context.CancelFunc) attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt = interrupt
	n := min(r.queue.Len(), flushBatch)
	next := attempt{of: make([]*backlog, 0, n), signals: make([]alarms.Signal, 0, n)}
	lapsed := make(map[*backlog]bool)
	for e := r.queue.Front(); e != nil && len(next.signals) < n; e = e.Next() {
		t := transitionOf(e)
		if lapsed[t.of] || !t.by.stands() { // Abandon withdraws it, and what follows it has to wait
			lapsed[t.of] = true
			continue
		}
		signal := t.signal
		signal.Valid = t.by.valid
		next.of, next.signals = append(next.of, t.of), append(next.signals, signal)
		t.of.inFlight++
	}
	r.storable = len(next.signals) > 0
	return next
}

// finish removes the transitions of an attempt if they were stored.
func (r *Service) finish(a attempt, stored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range a.of {
		b.inFlight--
		if !stored {
			continue
		}
		r.queue.Remove(b.pending[0])
		b.pending = b.pending[1:]
		r.stats.Transitions++
		if !b.late {
			r.show(b)
			continue
		}
		if r.lateQueued--; len(b.pending) == 0 {
			delete(r.lateBacklogs, b.rule)
		}
	}
	if !stored {
		for _, b := range a.of {
			r.dropWithdrawn(b)
		}
	}
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
}

func (r *Service) flushStates(ctx context.Context) error {
	r.mu.Lock()
	var states []State
	var taken, kept []*evaluation
	for _, e := range r.dirty {
		switch {
		case r.states == nil || r.rules[e.rule.ID] != e:
			e.unsaved = false
		case r.pending(e.rule.ID):
			kept = append(kept, e)
		default:
			e.unsaved = false
			taken = append(taken, e)
			states = append(states, State{RuleID: e.rule.ID, Phase: e.phase, Since: e.since.UTC().Truncate(time.Microsecond)})
		}
	}
	r.dirty = kept
	r.mu.Unlock()
	if len(states) == 0 {
		return nil
	}
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.RuleID, b.RuleID) })
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
