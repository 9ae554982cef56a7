package devices

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/otkit/otkit/internal/wake"
)

// entry is a device in a roll.
type entry struct {
	Device
	changed uint64        // roll.sequence at the last report or change
	place   *list.Element // in roll.order
}

// roll has devices in the order of their last changes. The lock of its owner guards it.
type roll struct {
	sequence uint64    // of reports and changes of all devices
	order    list.List // of *entry, the last changed one first
	watches  wake.Broadcast
	retired  bool // another roll has the devices
}

// insert adds a device as the last changed one.
func (r *roll) insert(e *entry) {
	e.place = r.order.PushFront(e)
	r.touch(e)
}

// touch marks a device as changed.
func (r *roll) touch(e *entry) {
	r.sequence++
	e.changed = r.sequence
	r.order.MoveToFront(e.place)
	r.watches.Send()
}

// since returns the devices that have changed after a position, in the order of their last changes, and the position to go on from.
// limit is how many at most; 0: all.
func (r *roll) since(after uint64, limit int) (found []Device, next uint64) {
	if after > r.sequence {
		after = 0 // of an earlier process, before our clock was set back
	}
	count, oldest := 0, (*list.Element)(nil)
	for e := r.order.Front(); e != nil && e.Value.(*entry).changed > after; e = e.Next() {
		count, oldest = count+1, e
	}
	next = r.sequence
	more := limit > 0 && count > limit
	if more {
		count = limit
	}
	found = make([]Device, 0, count) // at its size: the devices of a fleet change between any two calls
	for e := oldest; len(found) < count; e = e.Prev() {
		found = append(found, e.Value.(*entry).Device)
		if more {
			next = e.Value.(*entry).changed
		}
	}
	return found, next
}

// retire ends the roll: those who wait for changes look for another one.
func (r *roll) retire() {
	r.retired = true
	r.watches.Send()
}

var errRetired = errors.New("another roll has the devices")

// wait waits until there are changes after a position, and returns them as since does. Position 0 does not wait. lock guards the roll.
func (r *roll) wait(ctx context.Context, lock sync.Locker, after uint64, limit int) ([]Device, uint64, error) {
	for {
		changed := r.watches.C()
		lock.Lock()
		retired := r.retired
		found, next := r.since(after, limit)
		lock.Unlock()
		switch {
		case retired:
			return nil, after, errRetired
		case len(found) > 0 || after == 0:
			return found, next, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, after, context.Cause(ctx)
		}
	}
}

// byID is the order of lists.
func byID(a, b Device) int { return cmp.Compare(a.ID, b.ID) }
