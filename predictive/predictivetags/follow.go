package predictivetags

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/tags"
)

// watched is a point in a subscription.
type watched struct {
	index   int
	point   tags.Point
	emitted bool
	last    tags.Reading
}

// Subscribe implements tags.Subscriber: it emits what has changed.
func (d *Driver) Subscribe(ctx context.Context, points []tags.Point, emit func(i int, r tags.Reading)) error {
	if !d.connected.Load() {
		return tags.ErrNotConnected
	}
	all := make([]watched, len(points))
	byPlace := make(map[place][]*watched)
	for i, p := range points {
		all[i] = watched{index: i, point: p}
		places, _ := parse(p.Address)
		for _, at := range places {
			byPlace[at] = append(byPlace[at], &all[i])
		}
	}
	places := slices.Collect(maps.Keys(byPlace))
	d.mu.Lock()
	d.subscribed = true
	d.update(d.opts.Now())
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.subscribed = false
		d.mu.Unlock()
	}()
	ticker := time.NewTicker(d.opts.Interval)
	defer ticker.Stop()
	for {
		for _, p := range d.changed(places, byPlace) {
			emit(p.index, p.last)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		d.mu.Lock()
		places = d.update(d.opts.Now())
		d.mu.Unlock()
	}
}

// changed returns the points at some places whose readings differ from those that were emitted last.
func (d *Driver) changed(places []place, byPlace map[place][]*watched) (list []*watched) {
	now := d.opts.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range places {
		for _, p := range byPlace[at] {
			r := d.reading(p.point, now)
			if p.emitted && r.Value == p.last.Value && r.Quality == p.last.Quality && r.Reason == p.last.Reason && sameError(r.Err, p.last.Err) {
				continue
			}
			p.emitted, p.last = true, r
			list = append(list, p)
		}
	}
	return list
}

// sameError reports whether two errors have the same text.
func sameError(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

const (
	// definePause is how many times as long as define takes it is not called again: a tag configuration is laid over all tags each time,
	// and the targets of a large plant come one after the other.
	definePause = 20
	// defineRetry is when define is called again if it has failed.
	defineRetry = 10 * time.Second
)

// Follow calls define with the tags of all targets when they have changed, and again later if it fails. It returns when ctx ends.
func (d *Driver) Follow(ctx context.Context, define func([]tags.Tag) error) error {
	ticker := time.NewTicker(d.opts.Interval)
	defer ticker.Stop()
	known, changed := make(map[monitor.Target]bool), false
	var pause time.Time
	for position := uint64(0); ; {
		list, all, next := d.source.Changes(position)
		position = next
		changed = take(known, list, all) || changed
		if now := time.Now(); changed && !now.Before(pause) {
			changed = define(tagsFor(slices.Collect(maps.Keys(known)))) != nil
			wait := definePause * time.Since(now)
			if changed {
				wait = max(wait, defineRetry)
			}
			pause = time.Now().Add(wait)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// take adds the targets of results that have tags to those that are known, and reports whether there are others than before.
func take(known map[monitor.Target]bool, list []monitor.Result, all bool) (changed bool) {
	present := make(map[monitor.Target]bool, len(list))
	for _, r := range list {
		present[r.Target] = true
		if !known[r.Target] && hasTags(r) {
			known[r.Target], changed = true, true
		}
	}
	if all {
		for t := range known {
			if !present[t] {
				delete(known, t)
				changed = true
			}
		}
	}
	return changed
}
