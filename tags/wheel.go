package tags

import (
	"sync"
	"time"
)

// wheel holds when each tag has to be checked for staleness, so that a sweep looks at those alone
// whose time has come. A tag is in it while it has a reading that can grow old.
type wheel struct {
	start time.Time
	every time.Duration

	mu    sync.Mutex
	slots map[int64][]*entry // by the sweep that looks at them, counted from start
	swept int64              // the last sweep
}

func newWheel(every time.Duration) *wheel {
	return &wheel{start: time.Now(), every: every, slots: make(map[int64][]*entry)}
}

// plan has the first sweep after due look at an entry, whose lock is held.
func (w *wheel) plan(e *entry, due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.planned = max(int64(due.Sub(w.start)/w.every)+1, w.swept+1)
	w.slots[e.planned] = append(w.slots[e.planned], e)
}

// sweep returns the entries of each slot whose time has come. An entry may have been planned again since.
func (w *wheel) sweep(at time.Time) map[int64][]*entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(at.Sub(w.start) / w.every)
	due := make(map[int64][]*entry)
	for slot, list := range w.slots {
		if slot <= now {
			due[slot] = list
			delete(w.slots, slot)
		}
	}
	w.swept = max(w.swept, now)
	return due
}

// lookAhead is the longest time from one look at an entry to the next: the wheel keeps a tag that is removed
// until then.
const lookAhead = time.Minute

// watchAge plans the look at an entry that is in no slot, or in one too late. The entry's lock is held.
func (e *entry) watchAge() {
	if e.sample.Quality == Bad || e.fresh <= 0 || e.removed {
		return
	}
	e.wheel.plan(e, e.seen.Add(min(e.fresh, lookAhead)))
}

// plannedFor reports whether an entry is still planned for a slot.
func (e *entry) plannedFor(slot int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.planned == slot
}

// planNext plans the next look at an entry that was looked at, if there has to be one.
func (e *entry) planNext(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.planned = 0
	if e.sample.Quality == Bad || e.fresh <= 0 || e.removed {
		return
	}
	limit, next := e.limit(), at
	for _, due := range []time.Time{e.seen.Add(limit), e.seen.Add(3 * limit)} {
		if !due.Before(at) {
			next = due
			break
		}
	}
	// The limit is shorter by then where the tag is polled faster again.
	if soon := at.Add(min(e.fresh, lookAhead)); soon.Before(next) {
		next = soon
	}
	e.wheel.plan(e, next)
}
