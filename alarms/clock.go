package alarms

import (
	"context"
	"sync"
	"time"
)

// maxAhead is how far times may be ahead of a clock that was set back. Anything further ahead comes from a clock that
// was wrong.
const maxAhead = 24 * time.Hour

// steadyClock returns times that never decrease, so that lists by time are in the order of events. After the clock was
// set back, they advance at half speed until it has caught up. It is safe for concurrent use.
type steadyClock struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time // returned last; zero for none
	at   time.Time // the same moment, with its monotonic reading
}

// look returns the time, and by how much it is ahead of the clock.
func (c *steadyClock) look() (at time.Time, ahead time.Duration) {
	wall, mono := c.now().Round(0), time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.After(wall) {
		ahead = max(0, c.last.Add(mono.Sub(c.at)/2).Sub(wall))
	}
	if ahead > maxAhead {
		ahead = 0
	}
	c.last, c.at = wall.Add(ahead), mono
	return c.last, ahead
}

// begin makes times continue after those that are stored.
func (c *steadyClock) begin(ctx context.Context, store Store) error {
	p, err := store.Occurrences(ctx, Query{Limit: 1})
	if err != nil || len(p.Occurrences) == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &p.Occurrences[0]
	for _, at := range []time.Time{o.RaisedAt, o.ReturnedAt, o.ClearedAt, o.AcknowledgedAt} {
		c.last = notBefore(at, c.last)
	}
	c.at = time.Now()
	return nil
}

// Ahead returns by how much the times that the service stores are ahead of the clock because the clock was set back; it
// is usually 0. A source that reports times of the same clock must add it.
func (s *Service) Ahead() time.Duration {
	_, ahead := s.times.look()
	return ahead
}

// AheadOf returns the Ahead method of a target that has one, or a function that returns 0.
func AheadOf(target Target) func() time.Duration {
	if s, ok := target.(interface{ Ahead() time.Duration }); ok {
		return s.Ahead
	}
	return func() time.Duration { return 0 }
}

// Shift returns the signal with its times moved by a duration.
func (sig Signal) Shift(by time.Duration) Signal {
	if by == 0 {
		return sig
	}
	if !sig.At.IsZero() {
		sig.At = sig.At.Add(by)
	}
	if sig.past() {
		sig.Ended = sig.Ended.Add(by)
	}
	if sig.Raise != nil && !sig.Raise.At.IsZero() {
		a := *sig.Raise
		a.At = a.At.Add(by)
		sig.Raise = &a
	}
	return sig
}
