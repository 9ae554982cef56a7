package linked

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/tags"
)

// groupSize is how many samples are stored together, about.
const groupSize = 16_384

// storeFunc is the function that tags.Forwarder.Forward gets.
type storeFunc = func(ctx context.Context, readings []tags.Forwarded) error

// forwarder stores the batches of a link for one set of points.
type forwarder struct {
	*session
	targets *targets
	store   storeFunc
	entries []link.Entry // of one batch, used again

	// What is collected to be stored together.
	readings []tags.Forwarded
	sources  []source
	last     uint64 // number of the last one
	seen     uint64 // live values when the first one was collected

	failing bool // it was logged that storing fails
}

// source is where a reading is from.
type source struct {
	tag    uint32
	number uint64
}

// Forward implements tags.Forwarder.
func (b *bridge) Forward(ctx context.Context, points []tags.Point, store func(ctx context.Context, readings []tags.Forwarded) error) error {
	s := b.current()
	if s == nil {
		return tags.ErrNotConnected
	}
	f := &forwarder{session: s, targets: newTargets(points), store: store}
	for {
		batches, more := s.queue.peek(groupSize)
		if len(batches) == 0 {
			select {
			case <-more:
				continue
			case <-ctx.Done():
				return nil
			case <-s.ctx.Done():
				return tags.ErrNotConnected
			}
		}
		if err := f.deliver(ctx, batches); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the engine has ended Forward
			}
			s.end(err)
			return fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
		}
		s.queue.remove(len(batches))
		s.out.ack(batches[len(batches)-1].Last()) // the position may be ahead of what was sent on this link
	}
}

// deliver stores batches and their position. After an error, what has been stored is skipped the next time.
func (f *forwarder) deliver(ctx context.Context, batches []*link.Batch) error {
	for _, b := range batches {
		if err := f.collect(ctx, b); err != nil {
			return err
		}
	}
	if err := f.flush(ctx); err != nil {
		return err
	}
	return f.storePosition(ctx)
}

// collect collects the entries of a batch that are new. What must be stored in between, it stores.
func (f *forwarder) collect(ctx context.Context, b *link.Batch) error {
	through, err := f.through()
	if err != nil || b.Last() <= through {
		return err
	}
	if b.First > through+1 {
		if err := f.lose(ctx, b.First-1-through, b.First-1); err != nil {
			return err
		}
	}
	if f.entries, err = link.Decode(b.Data, f.entries[:0]); err != nil {
		return link.ErrProtocol.Because("batch from entry %d: %v", b.First, err)
	}
	if len(f.entries) != b.Count {
		return link.ErrProtocol.Because("the batch from entry %d has %d entries and says %d", b.First, len(f.entries), b.Count)
	}
	for i := range f.entries {
		number := b.First + uint64(i)
		if number <= through {
			continue
		}
		if e := &f.entries[i]; e.Event != nil {
			err = f.happened(ctx, e.Event, number)
		} else {
			err = f.sample(ctx, &e.Sample, number, i < b.Late)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sample collects a sample.
func (f *forwarder) sample(ctx context.Context, s *link.Sample, number uint64, late bool) error {
	names := f.names()
	if int(s.Tag) >= len(names) {
		f.drop("sample of a bridge dropped: its tag is not in the dictionary", "index", s.Tag)
		f.last = number
		return nil
	}
	point := f.targets.point(s.Tag, names)
	if point < 0 {
		if err := f.undefined(ctx, names, names[s.Tag]); err != nil {
			return err
		}
		f.last = number
		return nil
	}
	f.live.mu.Lock()
	f.live.grow(len(names))
	if len(f.readings) == 0 {
		f.seen = f.live.count
	}
	late = f.live.delivered(s, number, late)
	f.live.mu.Unlock()
	for ; point >= 0; point = f.targets.next(point) {
		f.readings = append(f.readings, tags.Forwarded{Point: point, Reading: readingOf(s, late)})
		f.sources = append(f.sources, source{s.Tag, number})
	}
	f.last = number
	return nil
}

// drop counts a sample that belongs to no tag, and logs the first of a link.
func (f *forwarder) drop(text string, args ...any) {
	f.bridge.unknown.Add(1)
	f.once.Do(func() { f.log.Warn(text, args...) })
}

// undefined waits until the tag engine defines a tag, which ends Forward, and drops its samples when that takes too long. All tags that
// are not defined then are dropped without another wait.
func (f *forwarder) undefined(ctx context.Context, names []string, name string) error {
	if !f.bridge.ignores(name) {
		if err := f.flush(ctx); err != nil {
			return err
		}
		if err := f.wait(ctx, f.hub.opts.UnknownTagWait); err != nil {
			return err
		}
		var missing []string
		for i, name := range names {
			if f.targets.point(uint32(i), names) < 0 {
				missing = append(missing, name)
			}
		}
		f.bridge.ignore(missing)
	}
	f.drop("samples of a bridge dropped: the engine has no such tag", "tag", name)
	return nil
}

// flush stores what is collected.
func (f *forwarder) flush(ctx context.Context) error {
	if len(f.readings) > 0 {
		if err := f.retry(ctx, func() error { return f.store(ctx, f.readings) }); err != nil {
			return err
		}
		f.bridge.samples.Add(uint64(len(f.readings)))
		f.bridge.newest.Store(new(f.readings[len(f.readings)-1].Reading.Time))
		f.live.repair(f.readings, f.sources, f.seen, f.names())
		clear(f.readings)
		f.readings, f.sources = f.readings[:0], f.sources[:0]
	}
	f.advance(f.last)
	return nil
}

// happened stores an event after what came before it.
func (f *forwarder) happened(ctx context.Context, e *link.Event, number uint64) error {
	if err := f.flush(ctx); err != nil {
		return err
	}
	if err := f.retry(ctx, func() error { return f.hub.bindings.Event(ctx, f.bridge.id, *e) }); err != nil {
		return err
	}
	f.last = number
	f.advance(number)
	return nil
}

// lose reports that n entries up to the given one are missing.
func (f *forwarder) lose(ctx context.Context, n, through uint64) error {
	if err := f.flush(ctx); err != nil {
		return err
	}
	f.log.Warn("samples of a bridge are missing: it dropped them before they were delivered", "count", n)
	err := f.settled(ctx, func() error { return f.hub.bindings.Lost(ctx, f.bridge.id, f.hello.Epoch, n, through) })
	if err != nil {
		return err
	}
	f.bridge.lost.Add(n)
	f.last = through
	f.advance(through)
	f.positioned(through)
	return nil
}

// through returns the last entry that is stored or collected. If the link has ended, the error is link.ErrEnded: the bridge may have another epoch.
func (f *forwarder) through() (uint64, error) {
	f.bridge.mu.Lock()
	defer f.bridge.mu.Unlock()
	if f.session.ctx.Err() != nil {
		return 0, link.ErrEnded
	}
	return max(f.bridge.through, f.last), nil
}

// advance notes that all entries up to the given one are stored.
func (f *forwarder) advance(through uint64) {
	b := f.bridge
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == f.hello.Epoch {
		b.through = max(b.through, through)
	}
}

// storePosition stores the number of the last entry that is stored.
func (f *forwarder) storePosition(ctx context.Context) error {
	b := f.bridge
	b.mu.Lock()
	through, stored, ours := b.through, b.stored, b.epoch == f.hello.Epoch
	b.mu.Unlock()
	if !ours || stored == through {
		return nil
	}
	if err := f.settled(ctx, func() error { return f.hub.bindings.StorePosition(ctx, b.id, f.hello.Epoch, through) }); err != nil {
		return err
	}
	f.positioned(through)
	return nil
}

// settled stores a position when what follows from the samples before it is stored.
func (f *forwarder) settled(ctx context.Context, store func() error) error {
	if settle := f.hub.opts.Settle; settle != nil {
		if err := f.retry(ctx, func() error { return settle(ctx) }); err != nil {
			return err
		}
	}
	return f.retry(ctx, store)
}

// positioned notes that a position is stored.
func (f *forwarder) positioned(through uint64) {
	b := f.bridge
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == f.hello.Epoch {
		b.stored = max(b.stored, through)
	}
}

// retry calls store until it returns nil, or the link or ctx ends.
func (f *forwarder) retry(ctx context.Context, store func() error) error {
	for failures := 1; ; failures++ {
		if !f.lease.stands() {
			f.end(errMoved)
			return link.ErrEnded
		}
		err := store()
		if err == nil {
			if f.failing {
				f.failing = false
				f.log.Info("samples of a bridge are stored again")
			}
			return nil
		}
		if ctx.Err() != nil || f.session.ctx.Err() != nil {
			return link.ErrEnded
		}
		if errors.Is(err, link.ErrElsewhere) {
			return err
		}
		if !f.failing {
			f.failing = true
			f.log.Error("failed to store samples of a bridge; retrying", "error", err)
		}
		if err := f.wait(ctx, backoff.Delay(f.hub.opts.MinBackoff, f.hub.opts.MaxBackoff, failures)); err != nil {
			return err
		}
	}
}

// wait returns an error if ctx or the link ends first.
func (f *forwarder) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	case <-f.session.ctx.Done():
	}
	return link.ErrEnded
}

func (b *bridge) ignores(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.ignored[name]
	return ok
}

// ignore replaces the tags that are ignored: those of the dictionary that have no point.
func (b *bridge) ignore(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.ignored)
	for _, name := range names {
		b.ignored[name] = struct{}{}
	}
}
