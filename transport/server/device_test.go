package server_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/otkit/otkit/tags"
)

// device is a driver and its device: a map of values that the test changes.
type device struct {
	mu      sync.Mutex
	values  map[string]tags.Value
	refused map[string]error // writes that the device does not take
	deaf    map[string]bool  // addresses that take a write and keep their value
	down    bool
	hold    chan struct{} // writes wait until it is closed; nil holds nothing
	writing chan struct{} // told when a write begins to wait
	written []tags.WriteItem
	changed chan struct{} // closed at the next change
}

func newDevice(values map[string]tags.Value) *device {
	return &device{values: maps.Clone(values), refused: map[string]error{}, deaf: map[string]bool{},
		writing: make(chan struct{}, 100), changed: make(chan struct{})}
}

// change does something with the device's state and wakes its subscription.
func (d *device) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *device) set(address string, v tags.Value) {
	d.change(func() { d.values[address] = v })
}

func (d *device) writes() []tags.WriteItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.written)
}

func (d *device) Connect(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return errors.New("no answer")
	}
	return nil
}

func (d *device) Close() error { return nil }

func (d *device) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range points {
		out[i] = d.readingLocked(p.Address)
	}
	return nil
}

func (d *device) readingLocked(address string) tags.Reading {
	v, ok := d.values[address]
	if !ok {
		return tags.Reading{Err: tags.ErrNoSuchAddress}
	}
	return tags.Reading{Value: v, Quality: tags.Good}
}

func (d *device) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	d.mu.Lock()
	hold := d.hold
	d.mu.Unlock()
	if hold != nil {
		d.writing <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.change(func() {
		for i, item := range items {
			if errs[i] = d.refused[item.Point.Address]; errs[i] != nil {
				continue
			}
			d.written = append(d.written, item)
			if !d.deaf[item.Point.Address] {
				d.values[item.Point.Address] = item.Value
			}
		}
	})
	return nil
}

// Subscribe reports every change immediately, so that no test waits for a poll.
func (d *device) Subscribe(ctx context.Context, points []tags.Point, emit func(i int, r tags.Reading)) error {
	last := make([]tags.Reading, len(points))
	for first := true; ; first = false {
		d.mu.Lock()
		changed, down := d.changed, d.down
		now := make([]tags.Reading, len(points))
		for i, p := range points {
			now[i] = d.readingLocked(p.Address)
		}
		d.mu.Unlock()
		if down {
			return tags.ErrNotConnected
		}
		for i := range now {
			if first || now[i] != last[i] {
				emit(i, now[i])
			}
		}
		last = now
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
