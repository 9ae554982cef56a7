package vda5050

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/internal/runes"
)

// vehicle is a vehicle with its last state.
type vehicle struct {
	Vehicle
	count atomic.Uint64 // of ids of actions

	mu      sync.Mutex
	state   *state        // the last one; nil before the first
	changed chan struct{} // closed at the next state
	order   *order        // in progress; repeated after a reconnection
	revoked string        // order that it did not confirm to have canceled
	stopped bool          // by an emergency stop that was not reset
	told    time.Time     // when it was last told to stop or to cancel
	version string        // of its messages
	limits  limits        // of its factsheet
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

// ready returns the last state of a vehicle that can be commanded.
func (v *vehicle) ready() (*state, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.version != "" && !ours(v.version):
		return nil, errVersion(v.version)
	case v.state == nil:
		return nil, errors.New("the vehicle has not reported its state yet")
	}
	return v.state, nil
}

func (v *vehicle) last() *state {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

// update takes a state. It returns what the vehicle must be told again, and why: a message that stops it or cancels its order may be
// lost with the connection of the vehicle or of the fleet.
func (v *vehicle) update(s *state, now time.Time) (again []action, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = s
	close(v.changed)
	v.changed = make(chan struct{})
	if !s.busy() || now.Sub(v.told).Abs() < time.Second {
		return nil, ""
	}
	switch {
	case v.stopped && !s.Paused:
		v.told = now
		return v.stopActions(now), "stopping it again"
	case v.revoked != "" && s.OrderID == v.revoked:
		v.told = now
		return []action{v.cancelAction(now)}, "canceling its order again"
	}
	return nil, ""
}

// stopActions returns what stops a vehicle: startPause first.
func (v *vehicle) stopActions(now time.Time) []action {
	return []action{{ActionType: "startPause", ActionID: v.unique("pause", now), BlockingType: "HARD"}, v.cancelAction(now)}
}

func (v *vehicle) cancelAction(now time.Time) action {
	return action{ActionType: "cancelOrder", ActionID: v.unique("cancel", now)}
}

// speaks notes the version of a message and reports whether it is another one than before.
func (v *vehicle) speaks(version string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	version = runes.Shorten(version, maxVersion)
	changed := v.version != version
	v.version = version
	return changed
}

// learns notes the limits of a factsheet and reports whether they are new and logged.
func (v *vehicle) learns(l limits, now time.Time) bool {
	v.mu.Lock()
	changed := v.limits != l
	v.mu.Unlock()
	if !changed || !v.warns(now) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limits = l
	return true
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

// setStopped notes that the vehicle is stopped, or reset, and returns what it was before.
func (v *vehicle) setStopped(stopped bool, now time.Time) (was bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, v.stopped, v.told = v.stopped, stopped, now
	return was
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

// begin notes the order in progress; nil when there is none.
func (v *vehicle) begin(o *order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.order = o
}

// revoke notes that an order is to be canceled whenever the vehicle reports it.
func (v *vehicle) revoke(o *order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.revoked = o.OrderID
}

// unique returns an id for an action.
func (v *vehicle) unique(kind string, now time.Time) string {
	return fmt.Sprintf("%s-%d-%d", kind, now.UnixMilli(), v.count.Add(1))
}
