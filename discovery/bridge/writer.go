package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/tags"
)

const (
	appendBytes = 2 << 20 // of blocks in one call of Buffer.Append
	appendRetry = time.Second
	watchDriver = 5 * time.Second
	watchLosses = time.Minute // and at most one line of the log in this time
)

// resume continues the numbers and the dictionary of the buffer. What is in memory is numbered again, after what the buffer has.
func (c *collector) resume(ctx context.Context) error {
	stats, err := c.host.o.Buffer.Stats(ctx)
	if err != nil {
		return fmt.Errorf("offline buffer: %w", err)
	}
	names, err := c.host.o.Buffer.Names(ctx)
	if err != nil {
		return fmt.Errorf("offline buffer: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, name := range names {
		switch {
		case i == len(c.byIndex):
			r := &record{name: name, index: uint32(i)}
			c.byIndex, c.records[name] = append(c.byIndex, r), r
		case c.byIndex[i].name != name:
			return fmt.Errorf("offline buffer: name %d of the dictionary is %q, not %q", i, name, c.byIndex[i].name)
		}
	}
	c.durable = len(names)
	c.epoch, c.base, c.stored, c.next = stats.Epoch, stats.Last, stats.Last, stats.Last+1
	for _, k := range c.full {
		k.first, c.next = c.next, c.next+uint64(k.count)
	}
	c.filling.first, c.next = c.next, c.next+uint64(len(c.filling.entries))
	for _, r := range c.byIndex {
		if r.number > 0 {
			r.number = c.next - 1 // more than it is: at most its newest value goes ahead without need
		}
	}
	c.recent.reset(stats.Last)
	c.lost = stats.Dropped + stats.Expired
	c.err = nil
	return nil
}

// activate begins to collect: first the current value of every tag.
func (c *collector) activate(ctx context.Context) error {
	c.mu.Lock()
	if c.active {
		c.mu.Unlock()
		return nil
	}
	c.active = true
	for _, r := range c.byIndex {
		r.number, r.seq = 0, 0
	}
	c.stop = c.host.o.Tags.Observe(c.observe)
	c.mu.Unlock()
	return c.host.eachTag(ctx, c.baseline)
}

// baseline adds the current value of a tag, unless a change has come already.
func (c *collector) baseline(s *tags.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.record(s.Tag)
	if r == nil || !c.active || r.number > 0 || s.Sample.Reason == tags.ReasonWaiting {
		return
	}
	at := s.Sample.SourceTime
	if s.Sample.Quality != tags.Good { // when the quality fell, which the time of the value does not tell
		at = s.Sample.ServerTime
	}
	r.sample = link.Sample{Tag: r.index, Time: at, Value: s.Sample.Value, Quality: s.Sample.Quality, Reason: s.Sample.Reason}
	r.number = c.add(link.Entry{Sample: r.sample}, false)
	c.overtake(r)
}

// deactivate ends collecting. What is in memory is still stored.
func (c *collector) deactivate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active {
		c.active = false
		c.stop()
	}
}

// run stores what is collected, until ctx ends.
func (c *collector) run(ctx context.Context) {
	watch := driverWatch{collector: c}
	ticker, losses := time.NewTicker(watchDriver), time.NewTicker(watchLosses)
	defer ticker.Stop()
	defer losses.Stop()
	failures := 0
	for {
		select {
		case <-c.work.C():
			if !c.await(ctx) {
				return
			}
		case <-ticker.C:
			watch.look()
			continue
		case <-losses.C:
			c.logLosses(ctx)
			continue
		case <-ctx.Done():
			return
		}
		watch.look()
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = c.store(ctx); err == nil {
				failures = 0
				continue
			}
			if failures++; failures == 1 && ctx.Err() == nil {
				c.log.Error("failed to write to the offline buffer; retrying", "error", err)
			}
			if !c.host.checkEpoch(ctx) {
				backoff.Wait(ctx, appendRetry)
			}
		}
	}
}

// await waits until a chunk is full, somebody waits for it, or its oldest entry is 20 ms old. It reports whether ctx goes on.
func (c *collector) await(ctx context.Context) bool {
	timer := time.NewTimer(collectDelay)
	defer timer.Stop()
	for {
		c.mu.Lock()
		due := c.flush || len(c.full) > 0
		c.mu.Unlock()
		if due {
			return true
		}
		select {
		case <-timer.C:
			return true
		case <-c.work.C():
		case <-ctx.Done():
			return false
		}
	}
}

// store appends what is in memory to the buffer, in one call. It reports whether there is more.
func (c *collector) store(ctx context.Context) (more bool, err error) {
	c.storing.Lock()
	defer c.storing.Unlock()
	epoch, chunks, names := c.take()
	err = c.write(ctx, epoch, chunks, names)
	defer c.grown.Send()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	c.err = err
	if err != nil {
		c.full = append(chunks, c.full...)
		return true, err
	}
	c.flush = false
	c.landed(chunks)
	if c.gap > 0 && c.active {
		c.event(EventSamplesDropped, fmt.Sprintf("%d samples dropped: the offline buffer did not take them", c.gap))
		c.gap = 0
	}
	return len(c.full) > 0, nil
}

// renew begins a new epoch of the buffer.
func (c *collector) renew(ctx context.Context, after uint64) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	if err := c.host.o.Buffer.Renew(ctx, after); err != nil {
		return err
	}
	return c.resume(ctx)
}

// discard begins a new epoch without entries. It returns how many of them were in memory only.
func (c *collector) discard(ctx context.Context) (inMemory uint64, err error) {
	c.storing.Lock()
	defer c.storing.Unlock()
	if err := c.host.o.Buffer.Renew(ctx, math.MaxUint64); err != nil {
		return 0, err
	}
	c.mu.Lock()
	inMemory = uint64(c.pending)
	c.filling, c.full, c.bytes, c.pending, c.gap = chunk{}, nil, 0, 0, 0
	c.mu.Unlock()
	return inMemory, c.resume(ctx)
}

// renewed reports whether the buffer has begun a new epoch by itself, because it was damaged, or has other numbers than the collector, and
// continues with what it has.
func (c *collector) renewed(ctx context.Context) (bool, error) {
	c.storing.Lock()
	defer c.storing.Unlock()
	c.mu.Lock()
	same := c.epoch == c.host.o.Buffer.Epoch() && !errors.Is(c.err, ErrBlocks)
	c.mu.Unlock()
	if same {
		return false, nil
	}
	return true, c.resume(ctx)
}

// take removes the oldest chunks, and the one that is being filled when they are all.
func (c *collector) take() (epoch string, chunks []*chunk, names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, n := 0, 0
	for ; n < len(c.full) && size < appendBytes; n++ {
		size += c.full[n].bytes
	}
	if n == len(c.full) {
		c.seal()
		n = len(c.full)
	}
	chunks, c.full = c.full[:n:n], c.full[n:]
	for _, r := range c.byIndex[c.durable:] {
		names = append(names, r.name)
	}
	return c.epoch, chunks, names
}

func (c *collector) write(ctx context.Context, epoch string, chunks []*chunk, names []string) error {
	if len(names) > 0 {
		if err := c.host.o.Buffer.AddNames(ctx, names); err != nil {
			return err
		}
		c.mu.Lock()
		c.durable += len(names)
		c.mu.Unlock()
	}
	if len(chunks) == 0 {
		return nil
	}
	blocks := make([]link.Block, len(chunks))
	for i, k := range chunks {
		blocks[i] = link.Block{First: k.first, Count: k.count, Data: k.block}
	}
	return c.host.o.Buffer.Append(ctx, epoch, blocks)
}

// landed takes chunks that are in the buffer out of the counters, and keeps their blocks at hand. The lock is held.
func (c *collector) landed(chunks []*chunk) {
	at := time.Now()
	for _, k := range chunks {
		c.bytes -= k.bytes
		c.pending -= k.count
		b := link.Block{First: k.first, Count: k.count, Data: k.block}
		c.recent.add(recentBlock{b, at, k.late})
		c.stored = b.Last()
	}
}

// flushed returns when all that was collected before is in the buffer, or an attempt to store it has failed.
func (c *collector) flushed(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, epoch, before, dropped := c.next-1, c.epoch, c.attempts, c.dropped
	for {
		if c.epoch != epoch { // numbered again
			target, epoch = c.next-1, c.epoch
		}
		if c.dropped != dropped { // perhaps what this waits for
			return ErrBuffer.Because("the memory is full")
		}
		if c.stored >= target {
			return nil
		}
		if c.attempts > before && c.err != nil {
			return ErrBuffer.Wrap(c.err)
		}
		c.flush = true
		c.work.Set()
		grown := c.grown.C()
		c.mu.Unlock()
		var err error
		select {
		case <-grown:
		case <-c.host.ended:
			err = ErrClosed
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		c.mu.Lock()
		if err != nil {
			return err
		}
	}
}
