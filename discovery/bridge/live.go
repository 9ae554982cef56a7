package bridge

import "github.com/otkit/otkit/discovery/link"

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
