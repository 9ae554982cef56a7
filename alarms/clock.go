package alarms

import (
	"context"
	"sync"
	"time"
)

// maxAhead is how far times may be ahead of a clock that was set back. What is further away was told by a
// clock that was wrong altogether.
const maxAhead = 24 * time.Hour

// steadyClock returns times that never go back, so that lists by time keep the order in which things happened.
// After the clock was set back they go at half speed until it has caught up. Safe for concurrent use.
type steadyClock struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time // given last; zero for none
	at   time.Time // the same moment on the clock that nobody sets
}

// look returns the time, and by how much that is ahead of the clock.
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

// begin makes times continue from what is stored.
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

// Ahead returns by how much the times that the service stores are ahead of the clock, because that was set
// back: 0 for most of the time. A source that tells when something happened by the same clock adds it.
func (s *Service) Ahead() time.Duration {
	_, ahead := s.times.look()
	return ahead
}

// AheadOf returns the function by which a source adjusts its times for a target.
func AheadOf(target Target) func() time.Duration {
	if s, ok := target.(interface{ Ahead() time.Duration }); ok {
		return s.Ahead
	}
	return func() time.Duration { return 0 }
}

// Shift returns the signal with its times moved.
func (sig Signal) Shift(by time.Duration) Signal {
	if by == 0 {
		return sig
	}
	if !sig.At.IsZero() {
		sig.At = sig.At.Add(by)
	}
	if sig.Raise != nil && !sig.Raise.At.IsZero() {
		a := *sig.Raise
		a.At = a.At.Add(by)
		sig.Raise = &a
	}
	return sig
}
