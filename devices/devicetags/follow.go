package devicetags

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/tags"
)

// watched is a point in a subscription.
type watched struct {
	index   int
	member  *member
	kind    tags.DataType
	emitted bool
	last    tags.Value // zero if the last reading was an error
}

// Subscribe implements tags.Subscriber: it emits what has changed.
func (d *Driver) Subscribe(ctx context.Context, points []tags.Point, emit func(i int, r tags.Reading)) error {
	if !d.connected.Load() {
		return tags.ErrNotConnected
	}
	byDevice := make(map[string][]watched)
	for i, p := range points {
		id, m := parse(p.Address)
		if m == nil {
			continue
		}
		byDevice[id] = append(byDevice[id], watched{index: i, member: m, kind: p.Type})
	}
	defer d.setLatest(nil)
	latest := make(map[string]devices.Device)
	return d.changes(ctx, d.opts.Interval, func(changed []devices.Device) {
		d.mu.Lock()
		for i := range changed {
			latest[changed[i].ID] = changed[i]
		}
		d.latest = latest
		d.mu.Unlock()
		now := d.opts.Now()
		for i := range changed {
			d.emit(&changed[i], byDevice[changed[i].ID], now, emit)
		}
	})
}

func (d *Driver) setLatest(latest map[string]devices.Device) {
	d.mu.Lock()
	d.latest = latest
	d.mu.Unlock()
}

func (d *Driver) emit(dev *devices.Device, list []watched, now time.Time, emit func(i int, r tags.Reading)) {
	for i := range list {
		p := &list[i]
		r := d.reading(dev, p.member, p.kind, now)
		if p.emitted && r.Value == p.last {
			continue
		}
		p.emitted, p.last = true, r.Value
		emit(p.index, r)
	}
}

// changes calls f with all devices and then with those that have changed, at most once in an interval, until ctx ends.
func (d *Driver) changes(ctx context.Context, interval time.Duration, f func([]devices.Device)) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for position := uint64(0); ; {
		changed, next, err := d.source.Changes(ctx, position)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
		}
		position = next
		f(changed)
		timer.Reset(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// defineInterval is how often tags are defined, at most: a tag configuration is laid over all of them each time.
const defineInterval = time.Second

// Follow calls define with the tags of all devices when they have changed: a device is new, reports what it did not report
// before, or is decommissioned. It returns when ctx ends or the source is closed.
func (d *Driver) Follow(ctx context.Context, define func([]tags.Tag)) error {
	known := make(map[string]groups)
	return d.changes(ctx, defineInterval, func(changed []devices.Device) {
		differs := false
		for i := range changed {
			dev := &changed[i]
			was := known[dev.ID]
			is := was | groupsOf(dev)
			if dev.State == devices.Decommissioned {
				is = 0
			}
			known[dev.ID] = is
			differs = differs || is != was
		}
		if !differs {
			return
		}
		var list []tags.Tag
		for _, id := range slices.Sorted(maps.Keys(known)) {
			list = append(list, tagsOf(id, known[id])...)
		}
		define(list)
	})
}
