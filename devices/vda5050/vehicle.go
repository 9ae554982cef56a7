package vda5050

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// vehicle is a vehicle with its last state.
type vehicle struct {
	Vehicle

	mu      sync.Mutex
	state   *state        // the last one; nil before the first
	count   uint64        // of ids of actions
	changed chan struct{} // closed at the next state
	order   *order        // in progress; repeated after a reconnection
	headers map[string]uint32
}

// header returns the next header of a topic.
func (v *vehicle) header(topic string, now time.Time) header {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.headers == nil {
		v.headers = map[string]uint32{}
	}
	h := header{HeaderID: v.headers[topic], Timestamp: stamp(now), Version: version, Manufacturer: v.Manufacturer, SerialNumber: v.SerialNumber}
	v.headers[topic]++
	return h
}

func (v *vehicle) last() *state {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

func (v *vehicle) update(s *state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = s
	close(v.changed)
	v.changed = make(chan struct{})
}

// await calls done with each state, the last one that is there first, until it returns true.
func (v *vehicle) await(ctx context.Context, done func(*state) bool) error {
	for {
		v.mu.Lock()
		s, changed := v.state, v.changed
		v.mu.Unlock()
		if s != nil && done(s) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (v *vehicle) begin(o *order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.order = o
}

// unique returns an id for an action.
func (v *vehicle) unique(kind string, now time.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.count++
	return fmt.Sprintf("%s-%d-%d", kind, now.UnixMilli(), v.count)
}
