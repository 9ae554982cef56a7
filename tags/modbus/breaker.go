package modbus

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/tags"
)

// breakers keeps, for each unit, whether it answers. The zero record is that of a good unit.
type breakers struct {
	Breaker
	now     func() time.Time
	log     *slog.Logger
	units   [256]record
	probeAt time.Time // no unit that is left out is tried before this: one after the other
}

type record struct {
	known    bool      // it has answered
	failures int       // in a row
	probeAt  time.Time // when a unit that is left out is tried again
}

// longestProbe is the most that the pause between two attempts of a dead unit grows to.
const longestProbe = 5 * time.Minute

var errLeftOut = fmt.Errorf("%w: the unit is left out for a while because it gave no answer", tags.ErrTimeout)

func (b *breakers) open(unit uint8) bool { return b.units[unit].failures >= b.Failures }

// healthy holds for units whose last request was answered, or that were not asked yet.
func (b *breakers) healthy(unit uint8) bool { return b.units[unit].failures == 0 }

// check gives an error for units that are left out at present.
func (b *breakers) check(unit uint8) error {
	if now := b.now(); b.open(unit) && (now.Before(b.units[unit].probeAt) || now.Before(b.probeAt)) {
		return errLeftOut
	}
	return nil
}

// order sorts units: those that answer, those that were not asked yet, those in trouble, of these the
// one that has waited longest first.
func (b *breakers) order(x, y uint8) int {
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
	if b.open(unit) {
		b.log.Info("modbus unit answers again", "unit", unit)
	}
	b.units[unit] = record{known: true}
}

func (b *breakers) failed(unit uint8, err error) {
	r := &b.units[unit]
	r.failures++
	pause := b.ProbeAfter
	for n := b.Failures; n < r.failures && pause < longestProbe; n++ {
		pause = min(2*pause, longestProbe)
	}
	now := b.now()
	r.probeAt = now.Add(pause)
	switch {
	case r.failures == b.Failures:
		b.log.Warn("modbus unit does not answer and is left out for a while", "unit", unit,
			"failures", r.failures, "retryAfter", pause, "error", err)
	case r.failures > b.Failures:
		b.probeAt = now.Add(b.ProbeAfter)
	}
}

// probeAll makes the next attempt of every unit due: after a new connection all is open again.
func (b *breakers) probeAll() {
	b.probeAt = time.Time{}
	for i := range b.units {
		b.units[i].probeAt = time.Time{}
	}
}
