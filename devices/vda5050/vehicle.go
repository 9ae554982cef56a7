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
	stopped bool          // by an emergency stop that was not reset
	told    time.Time     // when it was last told to stop
	warned  time.Time     // when an error with its messages was last logged
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

// update takes a state. It reports whether the vehicle must be told to stop again: the message of an emergency stop may be lost with
// the connection of the vehicle or of the fleet.
func (v *vehicle) update(s *state, now time.Time) (stop bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = s
	close(v.changed)
	v.changed = make(chan struct{})
	stop = v.stopped && !s.Paused && (s.Driving || len(s.NodeStates) > 0 || len(s.EdgeStates) > 0) && now.Sub(v.told).Abs() >= time.Second
	if stop {
		v.told = now
	}
	return stop
}

// warns reports whether an error with its messages is logged: a vehicle may send ten broken ones a second.
func (v *vehicle) warns(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.warned).Abs() < 10*time.Second {
		return false
	}
	v.warned = now
	return true
}

// setStopped notes that the vehicle is stopped, or reset.
func (v *vehicle) setStopped(stopped bool, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopped, v.told = stopped, now
}

// pending returns the order in progress, and whether the vehicle is stopped.
func (v *vehicle) pending() (*order, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.order, v.stopped
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
