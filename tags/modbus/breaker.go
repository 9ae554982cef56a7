package modbus

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/tags"
)

// breakers keeps, for each unit, whether it answers. The zero record is that of a good unit.
type breakers struct {
	Breaker
	now   func() time.Time
	log   *slog.Logger
	units [256]record
}

type record struct {
	failures int       // in a row
	probeAt  time.Time // when a unit that is left out is tried again
}

var errLeftOut = fmt.Errorf("%w: the unit is left out for a while because it gave no answer", tags.ErrTimeout)

func (b *breakers) open(unit uint8) bool { return b.units[unit].failures >= b.Failures }

// healthy holds for units whose last request was answered.
func (b *breakers) healthy(unit uint8) bool { return b.units[unit].failures == 0 }

// check gives an error for units that are left out at present.
func (b *breakers) check(unit uint8) error {
	if b.open(unit) && b.now().Before(b.units[unit].probeAt) {
		return errLeftOut
	}
	return nil
}

func (b *breakers) succeeded(unit uint8) {
	if b.open(unit) {
		b.log.Info("modbus unit answers again", "unit", unit)
	}
	b.units[unit] = record{}
}

func (b *breakers) failed(unit uint8, err error) {
	r := &b.units[unit]
	r.failures++
	r.probeAt = b.now().Add(b.ProbeAfter)
	if r.failures == b.Failures {
		b.log.Warn("modbus unit does not answer and is left out for a while", "unit", unit,
			"failures", r.failures, "retryAfter", b.ProbeAfter, "error", err)
	}
}

// probeAll makes the next attempt of every unit due: after a new connection all is open again.
func (b *breakers) probeAll() {
	for i := range b.units {
		b.units[i].probeAt = time.Time{}
	}
}
