package busstore

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/otkit/otkit/cluster/bus"
)

var errStarting = errors.New("the database has not been reached yet")

// Status implements [bus.Bus].
func (b *Bus) Status() bus.Status {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	s := bus.Status{Kind: "PostgreSQL", Up: true, Since: b.since, Lost: b.inbox.Lost()}
	if err := cmp.Or(b.reading, b.writing); err != nil {
		s.Up, s.Err = false, err.Error()
	}
	return s
}

// problem returns why the bus is not up.
func (b *Bus) problem() error {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	return cmp.Or(b.reading, b.writing)
}

// failed takes note of the end of an attempt to read or to write, which of says.
func (b *Bus) failed(of *error, err error) {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	before := cmp.Or(b.reading, b.writing)
	*of = err
	now := cmp.Or(b.reading, b.writing)
	if (before == nil) == (now == nil) {
		return
	}
	b.since = b.o.Now()
	switch {
	case now == nil:
		b.o.Logger.Info("bus of the engines connected", "kind", "PostgreSQL")
	case !errors.Is(now, bus.ErrClosed):
		b.o.Logger.Warn("bus of the engines not connected; retrying", "kind", "PostgreSQL", "error", now)
	}
}

// clock estimates the clock of the database, so that a statement that is carried out late, as by a server that hung, can be told to do nothing. The estimate is never
// too late, and too early by what the fastest of the last statements took at most.
type clock struct {
	mu   sync.Mutex
	base time.Time     // time of this machine
	low  time.Duration // what the clock shows at base, in time since 1970, at least
	set  time.Time     // when low was learned
}

// clockAge is how long an estimate is kept while later ones are less exact: clocks drift apart.
const clockAge = 10 * time.Second

// told takes note of the time in us that a statement returned, which ran from began to ended.
func (c *clock) told(us int64, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.IsZero() {
		c.base = began
	}
	at := time.Duration(us) * time.Microsecond
	low, high := at-ended.Sub(c.base), at-began.Sub(c.base)
	if low > c.low || high < c.low || ended.Sub(c.set) > clockAge { // more exact, set back, or old
		c.low, c.set = low, ended
	}
}

// of returns the time of the database at a time of this machine, in us.
func (c *clock) of(t time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.low + t.Sub(c.base)).Microseconds()
}
