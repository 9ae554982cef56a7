package rules

import (
	"time"

	"github.com/otkit/otkit/alarms"
)

// showAfter is how long the store may take before pending signals are listed.
const showAfter = time.Second

// show schedules a ShowPending for a rule. The lock is held.
func (r *Service) show(b *backlog) {
	if !b.changed {
		b.changed = true
		r.unshown = append(r.unshown, b)
		poke(r.wake)
	}
}

// toShow returns the changed pending signals to list, and when to check again. The lock is held.
func (r *Service) toShow(now time.Time) (changed []alarms.PendingSignals, again time.Duration) {
	late, again := r.late(now)
	kept := r.unshown[:0]
	for _, b := range r.unshown {
		if len(b.pending) > 0 && !b.shown && (!late || r.shower == nil) {
			kept = append(kept, b) // it may be stored in a moment
			continue
		}
		if len(b.pending) > 0 || b.shown {
			changed = append(changed, b.signals())
		}
		b.changed, b.shown = false, len(b.pending) > 0
		if !b.shown {
			delete(r.backlogs, b.rule)
		}
	}
	clear(r.unshown[len(kept):])
	if r.unshown = kept; len(kept) == 0 {
		again = time.Minute
	}
	return changed, again
}

// late reports whether storing fails or takes long, and when to check again. The lock is held.
func (r *Service) late(now time.Time) (bool, time.Duration) {
	if r.stats.Err != nil || r.storing.IsZero() {
		return r.stats.Err != nil, showAfter
	}
	left := showAfter - now.Sub(r.storing)
	return left <= 0 || left > showAfter, left
}

// signals returns the pending signals, oldest first.
func (b *backlog) signals() alarms.PendingSignals {
	p := alarms.PendingSignals{Key: ruleKey + b.rule, Signals: make([]alarms.Signal, len(b.pending))}
	for i, e := range b.pending {
		p.Signals[i] = transitionOf(e).signal
	}
	return p
}
