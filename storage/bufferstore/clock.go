package bufferstore

import "time"

// ageClock measures how old blocks are, in milliseconds of a time that does not step when the wall clock is set. It starts as the wall clock;
// each step of the wall clock beside the monotonic one is taken out. What happens while the process does not run cannot be told from time
// that passes.
type ageClock struct {
	wall      func() time.Time
	monotonic func() time.Duration

	offset   time.Duration // of the wall clock before this one
	latest   int64
	lastWall time.Time
	lastMono time.Duration
}

// maxStep is what the clocks may differ by between two readings without counting as a step: a clock that is slewed.
const maxStep = 5 * time.Second

// start begins with the offset that was stored, not before the newest stamp.
func (c *ageClock) start(offset time.Duration, newest int64) {
	c.offset, c.latest, c.lastWall, c.lastMono = offset, newest, c.wall().Round(0), c.monotonic()
}

// now returns the time, and whether the offset has changed.
func (c *ageClock) now() (ms int64, stepped bool) {
	wall, mono := c.wall().Round(0), c.monotonic()
	if step := wall.Sub(c.lastWall) - (mono - c.lastMono); step > maxStep || step < -maxStep {
		c.offset += step
		stepped = true
	}
	c.lastWall, c.lastMono = wall, mono
	c.latest = max(c.latest, wall.Add(-c.offset).UnixMilli())
	return c.latest, stepped
}

// time returns the wall clock's time, as it is set now, of a stamp.
func (c *ageClock) time(stamp int64) time.Time { return time.UnixMilli(stamp).Add(c.offset) }
