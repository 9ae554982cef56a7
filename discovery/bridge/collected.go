package bridge

import (
	"context"
	"time"
)

// What senders ask of a collector.

func (c *collector) epochNow() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// last returns the number of the newest entry of an epoch, 0 if there is none.
func (c *collector) last(epoch string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch || c.next == 0 {
		return 0
	}
	return c.next - 1
}

// namesFrom returns the dictionary from an index on.
func (c *collector) namesFrom(first int) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.byIndex[first:] {
		names = append(names, r.name)
	}
	return names
}

// after returns the oldest blocks with entries after a number of an epoch, and whether they were all in memory.
func (c *collector) after(epoch string, number uint64, most int) (blocks []recentBlock, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch { // the link is about to end
		return nil, false
	}
	return c.recent.after(number, most)
}

// floor returns the number after which all entries are in memory.
func (c *collector) floor() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.floor
}

// forget releases the memory of blocks that were delivered.
func (c *collector) forget(epoch string, through uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch == c.epoch {
		c.recent.forget(through)
	}
}

// complete adds what the collector knows to stats of the buffer.
func (c *collector) complete(s *Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteLosses(&s.BufferStats)
	s.Pending, s.MemoryDropped, s.LastDropAt = c.pending, c.dropped, c.dropAt
	if c.err != nil {
		s.BufferError = c.err.Error()
	}
}

// noteLosses notes what the buffer has dropped. The lock is held.
func (c *collector) noteLosses(s *BufferStats) {
	if lost := s.Dropped + s.Expired; s.Epoch == c.epoch && lost > c.lost {
		c.unlogged += lost - c.lost
		c.lost, c.dropAt = lost, c.host.o.Now()
	}
}

// logLosses logs what the buffer has dropped since the last time.
func (c *collector) logLosses(ctx context.Context) {
	if _, err := c.host.Stats(ctx); err != nil {
		return
	}
	c.mu.Lock()
	n := c.unlogged
	c.unlogged = 0
	c.mu.Unlock()
	if n > 0 {
		c.log.Warn("buffered samples lost: the offline buffer was full or they were too old", "samples", n)
	}
}

// oldestAfter returns how long ago the oldest entry after a number was stored, and whether there is one.
func (c *collector) oldestAfter(epoch string, number uint64) (age time.Duration, waits bool) {
	blocks, known := c.after(epoch, number, 1)
	switch {
	case !known:
		return lagLimit, true
	case len(blocks) == 0:
		return 0, false
	}
	return time.Since(blocks[0].at), true
}
