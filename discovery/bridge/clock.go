package bridge

import "time"

// engineClock estimates the clock of an engine from the times that it sends. For one goroutine.
//
// A time that travels is late, so the estimate that is furthest ahead is the best one. It is taken from the newest times only,
// since the clocks of two machines drift. The monotonic clock stands still while a machine sleeps, so the wall clock counts too: the later of both
// is the estimate, as a write that is refused by mistake does less harm than one that comes too late.
type engineClock struct {
	ring [16]reading // the last ones are the newest
	n    int
}

type reading struct {
	engine time.Time
	local  time.Time // with the monotonic clock
}

func (c *engineClock) observe(engine, now time.Time) {
	if c.n == len(c.ring) {
		copy(c.ring[:], c.ring[1:])
		c.n--
	}
	c.ring[c.n] = reading{engine, now}
	c.n++
}

// now returns the engine's time at the local time at, and whether it is known.
func (c *engineClock) now(at time.Time) (time.Time, bool) {
	if c.n == 0 {
		return time.Time{}, false
	}
	var latest time.Time
	for _, r := range c.ring[:c.n] {
		if t := r.engine.Add(at.Sub(r.local)); t.After(latest) {
			latest = t
		}
	}
	last := c.ring[c.n-1]
	if t := last.engine.Add(at.Round(0).Sub(last.local.Round(0))); t.After(latest) {
		latest = t
	}
	return latest, true
}
