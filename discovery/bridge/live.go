package bridge

import (
	"context"

	"github.com/otkit/otkit/discovery/link"
)

const livePage = 4096 // samples in one Live frame

// goLive lets newest values go ahead from now on, and first those of all tags whose newest entry has a number above after.
func (c *collector) goLive(after uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = true
	for _, r := range c.byIndex {
		if r.number > after {
			c.overtake(r)
		}
	}
}

// recall takes the newest values from what waits since before the process began, for tags that have none yet. They go ahead like any other,
// so that the engine takes what comes after them as history, also while the device is away.
func (c *collector) recall(ctx context.Context) error {
	c.mu.Lock()
	epoch, last := c.epoch, c.base
	c.mu.Unlock()
	var entries []link.Entry
	for after := uint64(0); after < last; {
		blocks, err := c.host.o.Buffer.Peek(ctx, epoch, after, peekBytes)
		if err != nil || len(blocks) == 0 {
			return err
		}
		for i := range blocks {
			b := &blocks[i]
			if after = b.Last(); after > last {
				break
			}
			if entries, err = link.Decode(b.Data, entries[:0]); err != nil {
				continue // the engine says what is wrong with it
			}
			c.remember(entries, b.First, last)
		}
	}
	return nil
}

func (c *collector) remember(entries []link.Entry, first, last uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range entries {
		e := &entries[i]
		if e.Event != nil || int(e.Tag) >= len(c.byIndex) {
			continue
		}
		if r := c.byIndex[e.Tag]; r.number <= last { // else it is of this process
			r.number, r.sample = first+uint64(i), e.Sample
		}
	}
}

// endLive ends it.
func (c *collector) endLive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.dirty {
		r.dirty = false
	}
	c.live, c.dirty = false, nil
}

// ahead returns how many values are to go ahead, and up to which number they overtake all entries.
func (c *collector) ahead() (n int, through uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.dirty), c.next - 1
}

// takeLive removes the values that changed first, at most limit and so many that they fit into one frame.
func (c *collector) takeLive(limit int) []link.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.dirty), limit, livePage)
	samples := make([]link.Entry, 0, n)
	for _, r := range c.dirty[:n] {
		samples = append(samples, link.Entry{Sample: r.sample})
	}
	n = link.Fit(samples)
	for _, r := range c.dirty[:n] {
		r.dirty = false
	}
	if c.dirty = c.dirty[n:]; len(c.dirty) == 0 {
		c.dirty = nil
	}
	return samples[:n]
}
