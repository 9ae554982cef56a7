package modbus

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/otkit/otkit/tags"
)

// breakers keeps, for each unit, whether it answers. The zero record is that of a good unit. A unit that
// is the only one is asked at every poll whether it answers or not: that delays no other unit.
type breakers struct {
	Breaker
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex // others than the engine's goroutine read the status
	units   [256]record
	used    int       // units that are polled
	probeAt time.Time // no skipped unit is tried before this: one after the other
}

type record struct {
	used     bool      // it is polled
	known    bool      // it has answered
	failures int       // in a row
	probeAt  time.Time // when a skipped unit is tried again
}

var errSkipped = fmt.Errorf("%w: the unit is not polled for a while because it did not answer", tags.ErrTimeout)

// use records that a unit is polled.
func (b *breakers) use(unit uint8) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := &b.units[unit]; !r.used {
		r.used = true
		b.used++
	}
}

// isOpen reports whether a unit is skipped. The lock is held.
func (b *breakers) isOpen(unit uint8) bool { return b.used > 1 && b.units[unit].failures >= b.Failures }

// alone reports whether there is one unit only.
func (b *breakers) alone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used <= 1
}

// failures returns how many requests in a row the unit has not answered.
func (b *breakers) failures(unit uint8) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.units[unit].failures
}

// answers holds for units whose last request was answered.
func (b *breakers) answers(unit uint8) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.units[unit].known && b.units[unit].failures == 0
}

// check returns an error for units whose polling is paused.
func (b *breakers) check(unit uint8) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOpen(unit) && b.now().Before(b.due(unit)) {
		return errSkipped
	}
	return nil
}

// due returns when a skipped unit is tried again. The lock is held.
func (b *breakers) due(unit uint8) time.Time {
	// One that probeNow has made due does not wait for its turn: a poll waits for one timeout at most.
	if own := b.units[unit].probeAt; own.After(b.probeAt) || own.IsZero() {
		return own
	}
	return b.probeAt
}

// order sorts units: those that answer, those that were not asked yet, those in trouble, of these the
// one that has waited longest first.
func (b *breakers) order(x, y uint8) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	rank := func(r *record) int {
		switch {
		case r.failures > 0:
			return 2
		case !r.known:
			return 1
		}
		return 0
	}
	p, q := &b.units[x], &b.units[y]
	if c := cmp.Compare(rank(p), rank(q)); c != 0 || p.failures == 0 {
		return c
	}
	return p.probeAt.Compare(q.probeAt)
}

func (b *breakers) succeeded(unit uint8) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &b.units[unit]
	if r.failures >= b.Failures {
		b.log.Info("modbus unit answers again", "unit", unit)
		b.probeNow() // what kept it silent may have kept others
	}
	r.known, r.failures, r.probeAt = true, 0, time.Time{}
}

func (b *breakers) failed(unit uint8, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &b.units[unit]
	r.failures++
	now := b.now()
	r.probeAt = now.Add(b.ProbeAfter)
	if r.failures == b.Failures {
		b.log.Warn("modbus unit does not answer", "unit", unit, "failures", r.failures, "error", err)
	}
	if r.failures > b.Failures {
		// Within ProbeAfter each skipped unit has its turn.
		open := 0
		for i := range b.units {
			if b.isOpen(uint8(i)) {
				open++
			}
		}
		b.probeAt = now.Add(b.ProbeAfter / time.Duration(max(1, open)))
	}
}

// probeAll makes the next attempt of every unit due, and forgets which of them are polled: after a new
// connection all is open again.
func (b *breakers) probeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = 0
	for i := range b.units {
		b.units[i].used = false
	}
	b.probeNow()
}

// probeNow makes the next attempt of every unit due. The lock is held.
func (b *breakers) probeNow() {
	b.probeAt = time.Time{}
	for i := range b.units {
		b.units[i].probeAt = time.Time{}
	}
}

// Breakers is for tags.BreakerReporter.
func (d *Driver) Breakers() []tags.Breaker {
	b := &d.breakers
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]tags.Breaker, 0, b.used)
	for i := range b.units {
		r := &b.units[i]
		if !r.used {
			continue
		}
		entry := tags.Breaker{Unit: strconv.Itoa(i), State: tags.BreakerClosed, Failures: r.failures}
		if b.isOpen(uint8(i)) {
			entry.State, entry.ProbeAt = tags.BreakerOpen, b.due(uint8(i))
			if !b.now().Before(entry.ProbeAt) {
				entry.State = tags.BreakerHalfOpen
			}
		}
		list = append(list, entry)
	}
	return list
}
