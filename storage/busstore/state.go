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

// clock estimates the clock of the database, so that a statement that is carried out late, as by a server that hung, can be told to do nothing.
type clock struct {
	mu sync.Mutex
	us int64     // time of the database
	at time.Time // when it was no later than that
}

// set takes note of the time that a statement returned which began at a time.
func (c *clock) set(us int64, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.us, c.at = us, began
}

// of returns the time of the database at a time of this machine, in us. It is at most too late by what a statement takes.
func (c *clock) of(t time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.us + t.Sub(c.at).Microseconds()
}
