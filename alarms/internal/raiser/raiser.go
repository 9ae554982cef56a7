// Package raiser applies what monitors find to a target of alarms, also when it cannot be stored at once.
package raiser

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms"
)

// Interval is how often a monitor polls its source.
const Interval = time.Second

// Raiser has the alarms that a monitor has raised, and the signals that are not stored yet. It is for one goroutine.
type Raiser struct {
	target         alarms.Target
	ahead          func() time.Duration // of the target's times
	conditions     map[string]*condition
	unknownOutcome error // of the last attempt to store, while its outcome is unknown; nil otherwise
}

// condition is an alarm by its key, while it is active or something of it is not stored.
type condition struct {
	raised  bool            // active after pending is stored
	pending []alarms.Signal // not stored yet: at most a raise and a clear beyond those of unsure
	unsure  int             // how many of pending may be stored already
	shown   bool            // the target lists what is pending
}

// New returns a Raiser without alarms.
func New(target alarms.Target) *Raiser {
	return &Raiser{target: target, ahead: alarms.AheadOf(target), conditions: make(map[string]*condition)}
}

// At returns a time of the monitor as the target has it.
func (r *Raiser) At(now time.Time) time.Time { return now.Add(r.ahead()) }

// Raised reports whether an alarm is active, once all is stored.
func (r *Raiser) Raised(key string) bool {
	c := r.conditions[key]
	return c != nil && c.raised
}

// Pending reports whether something of an alarm is not stored yet.
func (r *Raiser) Pending(key string) bool {
	c := r.conditions[key]
	return c != nil && len(c.pending) > 0
}

// SetRaised takes over an alarm that is active in the target.
func (r *Raiser) SetRaised(key string) {
	c := r.condition(key)
	c.raised, c.pending = true, nil
}

// Forget leaves an alarm to somebody else, as it is: nothing more of it is stored.
func (r *Raiser) Forget(key string) {
	if c := r.conditions[key]; c != nil {
		c.raised, c.pending, c.unsure = false, nil, 0
	}
}

// Leave forgets all alarms, and takes what is not stored off the list of the target. Call it when Run has returned and somebody else goes on with them.
func (r *Raiser) Leave(ctx context.Context) {
	for key := range r.conditions {
		r.Forget(key)
	}
	r.show(ctx, false)
}

func (r *Raiser) condition(key string) *condition {
	c := r.conditions[key]
	if c == nil {
		c = &condition{}
		r.conditions[key] = c
	}
	return c
}

// Clear ends an alarm. why is empty if the source has returned to normal.
func (r *Raiser) Clear(key, why string, now time.Time) {
	r.transit(key, alarms.Signal{Key: key, At: r.At(now), Reset: true, Comment: why})
}

// Raise begins an alarm, which must have an ID. If its end is not stored yet, the alarm that was there may continue, updated
// where a has a Refresh.
func (r *Raiser) Raise(a *alarms.Alarm) {
	if continues := r.transit(a.Key, alarms.Signal{At: a.At, Raise: a}); continues && a.Refresh != nil {
		r.Update(a)
	}
}

// transit queues a raise or a clear. More than two are coalesced: the alarm continues, or the time without one.
func (r *Raiser) transit(key string, s alarms.Signal) (coalesced bool) {
	c := r.condition(key)
	c.raised = s.Raise != nil
	if last := len(c.pending) - 1; last-c.unsure >= 1 {
		c.pending = c.pending[:last]
		return true
	}
	c.pending = append(c.pending, s)
	return false
}

// Update gives an active alarm the message of a and those of its labels that a.Refresh names.
func (r *Raiser) Update(a *alarms.Alarm) {
	c := r.condition(a.Key)
	if last := len(c.pending) - 1; last >= c.unsure && c.pending[last].Raise != nil {
		was := c.pending[last].Raise
		next := *a // the target may still read the one that was shown
		next.ID, next.At = was.ID, was.At
		c.pending[last].Raise = &next
		return
	}
	c.pending = append(c.pending, alarms.Signal{At: a.At, Raise: a})
}

// Run calls step and stores what it has found, every [Interval] until ctx ends or until once is set and all is stored.
// What fails is tried again. The source is polled also while nothing can be stored. name is that of the alarms, for log.
func (r *Raiser) Run(ctx context.Context, log *slog.Logger, name string, once bool, step func(context.Context) error) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	failing := false
	for {
		err := step(ctx)
		if err == nil {
			err = r.store(ctx)
		}
		r.show(ctx, err != nil)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			log.Error("failed to store "+name+" alarms; retrying", "error", err)
		case err == nil && failing:
			log.Info("storing " + name + " alarms resumed")
		}
		failing = err != nil
		if once && err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// show makes the target list what is pending while it cannot be stored, and forgets what is over.
func (r *Raiser) show(ctx context.Context, failing bool) {
	target, ok := r.target.(alarms.PendingTarget)
	var changed []alarms.PendingSignals
	for key, c := range r.conditions {
		if show := failing && len(c.pending) > 0; ok && (show || c.shown) {
			changed, c.shown = append(changed, alarms.PendingSignals{Key: key, Signals: slices.Clone(c.pending)}), len(c.pending) > 0
		}
		if !c.raised && !c.shown && len(c.pending) == 0 {
			delete(r.conditions, key)
		}
	}
	if len(changed) > 0 {
		target.ShowPending(ctx, changed)
	}
}

// store applies what is pending, as much as one call takes.
func (r *Raiser) store(ctx context.Context) error {
	if r.unknownOutcome != nil {
		stored, err := alarms.ResolveOutcome(ctx, r.unknownOutcome)
		if err != nil {
			return err
		}
		r.unknownOutcome = nil
		for _, c := range r.conditions {
			if stored {
				c.pending = c.pending[c.unsure:]
			}
			c.unsure = 0
		}
	}
	var pending []string
	for key, c := range r.conditions {
		if len(c.pending) > 0 {
			pending = append(pending, key)
		}
	}
	slices.Sort(pending)
	var signals []alarms.Signal
	var taken []*condition
	for _, key := range pending {
		if c := r.conditions[key]; len(signals)+len(c.pending) <= alarms.MaxBatch {
			signals, taken = append(signals, c.pending...), append(taken, c)
		}
	}
	if len(signals) == 0 {
		return nil
	}
	_, err := r.target.Apply(ctx, signals)
	if errors.Is(err, alarms.ErrOutcomeUnknown) {
		r.unknownOutcome = err
	}
	for _, c := range taken {
		switch {
		case err == nil:
			c.pending = nil
		case r.unknownOutcome != nil:
			c.unsure = len(c.pending)
		}
	}
	return err
}
