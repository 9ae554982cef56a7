package vda5050

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/backoff"
)

// Execute implements [devices.Executor]. When ctx ends, the order is canceled, and Execute waits for the vehicle to say so, at most
// Options.CancelTimeout.
func (f *Fleet) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	v := f.vehicles[o.DeviceID]
	if v == nil {
		return nil, fmt.Errorf("there is no vehicle %q", o.DeviceID)
	}
	last, err := v.ready()
	if err != nil {
		return nil, err
	}
	switch o.Type {
	case devices.MoveTo, devices.PickUp, devices.Release:
		if last.Paused {
			return nil, errors.New("the vehicle is paused; ResetEmergencyStop ends that, or its own button")
		}
		if last.Driving {
			return nil, errors.New("the vehicle drives without an order of ours")
		}
		if o.Type == devices.MoveTo && (o.Move == nil || o.Move.Map == "") {
			return nil, errors.New("the map of the vehicle is not known")
		}
		// A vehicle may have had an order with the id of the command, and discards a second one.
		o.ID = v.unique(o.ID, f.opts.Now())
		return f.drive(ctx, v, f.order(last, o))
	}
	return f.send(ctx, v, action{ActionType: o.Type, ActionID: v.unique(o.ID, f.opts.Now()), BlockingType: "HARD", Parameters: parametersOf(o.Parameters)})
}

// order returns the order for a command. Its first node is where the vehicle stands: the standard lets an order begin nowhere else.
func (f *Fleet) order(last *state, o devices.Order) *order {
	here := node{NodeID: cmp.Or(last.LastNodeID, "start-"+o.ID), Released: true, Actions: []action{}}
	if p := last.Position; p != nil {
		theta := p.Theta
		here.Position = &nodePosition{X: p.X, Y: p.Y, Theta: &theta, AllowedDeviation: f.opts.Deviation, MapID: p.MapID}
	}
	m := &order{OrderID: o.ID, Nodes: []node{here}, Edges: []edge{}}
	if o.Move == nil {
		kind := map[string]string{devices.PickUp: "pick", devices.Release: "drop"}[o.Type]
		m.Nodes[0].Actions = append(m.Nodes[0].Actions, action{ActionType: kind, ActionID: o.ID + "-" + kind, BlockingType: "HARD", Parameters: loadParameters(o.Parameters)})
		return m
	}
	to := node{NodeID: "target-" + o.ID, SequenceID: 2, Released: true, Actions: []action{}, Position: &nodePosition{X: o.Move.X, Y: o.Move.Y, Theta: o.Move.Theta,
		AllowedDeviation: f.opts.Deviation, MapID: o.Move.Map}}
	m.Nodes = append(m.Nodes, to)
	speed := o.MaxSpeed
	if asked := o.Move.Speed; asked != nil && (speed == 0 || *asked < speed) {
		speed = *asked
	}
	m.Edges = append(m.Edges, edge{EdgeID: "way-" + o.ID, SequenceID: 1, Released: true, StartNodeID: here.NodeID, EndNodeID: to.NodeID, MaxSpeed: speed,
		Actions: []action{}})
	return m
}

// loadParameters returns the parameters of pick and drop: a target is the station, others are passed on.
func loadParameters(given map[string]any) []parameter {
	all := maps.Clone(given)
	if target, ok := all["target"]; ok {
		delete(all, "target")
		all["stationName"] = target
	}
	return parametersOf(all)
}

func parametersOf(given map[string]any) (all []parameter) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] != nil {
			all = append(all, parameter{key, given[key]})
		}
	}
	return all
}

// drive sends an order and waits until the vehicle has carried it out.
func (f *Fleet) drive(ctx context.Context, v *vehicle, m *order) (map[string]any, error) {
	v.begin(m)
	defer v.begin(nil)
	if err := f.publish(ctx, v, "order", *m); err != nil {
		return nil, fmt.Errorf("the order was not sent: %w", err)
	}
	var failed error
	accepted := false
	waiting, accept, release := f.acceptance(ctx)
	defer release()
	err := v.await(waiting, func(s *state) (done bool) {
		if accepted && s.OrderID != m.OrderID {
			failed = fmt.Errorf("%w: it has another order: %s", devices.ErrUnknownOutcome, s.OrderID)
			return true
		}
		if accepted = s.OrderID == m.OrderID; accepted {
			accept()
		}
		done, failed = s.progress(m)
		return done
	})
	if errors.Is(failed, devices.ErrUnknownOutcome) {
		v.revoke(m) // it may still have the order
	}
	if last := v.last(); err == nil && failed != nil && last.OrderID == m.OrderID && last.busy() {
		err = failed // when the error is gone, the vehicle would go on with the order
	}
	if err != nil {
		v.begin(nil) // a reconnection must not repeat what is canceled
		return nil, f.stopped(ctx, v, m, err)
	}
	return result(v.last()), failed
}

// acceptance returns a context that ends after Options.AcceptTimeout unless accept is called before. release must be called.
func (f *Fleet) acceptance(ctx context.Context) (waiting context.Context, accept, release func()) {
	waiting, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(f.opts.AcceptTimeout, func() {
		cancel(fmt.Errorf("the vehicle did not acknowledge it within %s: %w", f.opts.AcceptTimeout, devices.ErrUnknownOutcome))
	})
	return waiting, func() { timer.Stop() }, func() { timer.Stop(); cancel(nil) }
}

// progress reports whether the vehicle has ended an order, and why it has failed.
func (s *state) progress(m *order) (done bool, err error) {
	for _, e := range s.Errors {
		for _, r := range e.References {
			if r.Key == "orderId" && r.Value == m.OrderID && s.OrderID != m.OrderID {
				return true, fmt.Errorf("the vehicle refuses the order: %s %s", e.Type, e.Description)
			}
		}
	}
	if s.OrderID != m.OrderID {
		return false, nil // it has not taken the order yet
	}
	if why := s.fatal(); why != "" && s.Driving {
		return true, fmt.Errorf("%w: it drives and reports: %s", devices.ErrUnknownOutcome, why)
	} else if why != "" {
		return true, fmt.Errorf("the vehicle reports: %s", why)
	}
	target := m.Nodes[len(m.Nodes)-1]
	for _, a := range target.Actions {
		switch ended, err := s.action(a.ActionID); {
		case err != nil:
			return true, err
		case !ended:
			return false, nil
		}
	}
	if len(s.NodeStates) > 0 || len(s.EdgeStates) > 0 || s.Driving {
		return false, nil
	}
	if s.LastNodeID != target.NodeID || s.LastNodeSequenceID != target.SequenceID {
		return true, fmt.Errorf("the vehicle has ended the order at node %q", s.LastNodeID)
	}
	if d := s.distance(target.Position); d > farOff {
		return true, fmt.Errorf("the vehicle has ended the order %.1f m from its target", d)
	}
	return true, nil
}

// farOff is how many metres from its target, beyond Options.Deviation, a vehicle is not believed to have arrived.
const farOff = 1

// distance returns how far the vehicle is from the deviation that a node allows, in metres; 0 where that is not known.
func (s *state) distance(target *nodePosition) float64 {
	if p := s.Position; p != nil && p.Initialized && target != nil && p.MapID == target.MapID {
		return max(0, math.Hypot(p.X-target.X, p.Y-target.Y)-target.AllowedDeviation)
	}
	return 0
}

// action reports whether an action has ended, and why it has failed.
func (s *state) action(id string) (ended bool, err error) {
	for _, a := range s.ActionStates {
		if a.ActionID == id {
			switch a.Status {
			case "FINISHED":
				return true, nil
			case "FAILED":
				return true, fmt.Errorf("the vehicle reports: %s", cmp.Or(a.Result, "action failed"))
			}
		}
	}
	return false, nil
}

// knows reports whether a state has an action, whatever became of it.
func (s *state) knows(id string) bool {
	return slices.ContainsFunc(s.ActionStates, func(a actionState) bool { return a.ActionID == id })
}

// stopped cancels an order, unless the service stops, and returns the error for the command.
func (f *Fleet) stopped(ctx context.Context, v *vehicle, m *order, cause error) error {
	if errors.Is(cause, devices.ErrClosed) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.opts.CancelTimeout)
	defer cancel()
	if _, err := f.send(ctx, v, v.cancelAction(f.opts.Now())); err != nil {
		v.revoke(m)
		return fmt.Errorf("%w: %w; the vehicle did not confirm that it canceled the order: %w", devices.ErrUnknownOutcome, cause, err)
	}
	return cause
}

// send sends an instant action and waits until the vehicle has ended it.
func (f *Fleet) send(ctx context.Context, v *vehicle, a action) (map[string]any, error) {
	if err := f.instant(ctx, v, a); err != nil {
		return nil, fmt.Errorf("the action was not sent: %w", err)
	}
	var failed error
	waiting, accept, release := f.acceptance(ctx)
	defer release()
	if err := v.await(waiting, func(s *state) (ended bool) {
		if s.knows(a.ActionID) {
			accept()
		}
		ended, failed = s.action(a.ActionID)
		return ended
	}); err != nil {
		return nil, err
	}
	return result(v.last()), failed
}

func result(s *state) map[string]any {
	data := map[string]any{"lastNodeId": s.LastNodeID}
	if p := s.Position; p != nil {
		data["x"], data["y"], data["theta"], data["map"] = p.X, p.Y, p.Theta, p.MapID
	}
	return data
}

// Stop implements [devices.Executor]: the vehicle pauses and cancels its order. It returns when the vehicle has paused.
func (f *Fleet) Stop(ctx context.Context, deviceID string) error {
	v := f.vehicles[deviceID]
	if v == nil {
		return fmt.Errorf("there is no vehicle %q", deviceID)
	}
	before := v.last()
	v.setStopped(true, f.opts.Now())
	actions := v.stopActions(f.opts.Now())
	for {
		err := f.instant(ctx, v, actions...)
		if err == nil {
			break
		}
		if errors.Is(err, devices.ErrNotOwner) || !backoff.Wait(ctx, 100*time.Millisecond) { // the broker may come back in time
			return err
		}
	}
	var failed error
	if err := v.await(ctx, func(s *state) (ended bool) {
		if s == before {
			return false // reported before it was told
		}
		if s.Paused {
			return true
		}
		ended, failed = s.action(actions[0].ActionID)
		return ended
	}); err != nil {
		return err
	}
	return failed
}

// Reset implements [devices.Resetter]. It returns when the vehicle is not paused, whoever has paused it. An order that the vehicle
// still has is canceled before: it would go on with it.
func (f *Fleet) Reset(ctx context.Context, deviceID string) (err error) {
	v := f.vehicles[deviceID]
	if v == nil {
		return fmt.Errorf("there is no vehicle %q", deviceID)
	}
	if last := v.last(); last != nil && last.ordered() {
		canceling, cancel := context.WithTimeout(ctx, f.opts.CancelTimeout)
		defer cancel()
		if _, err := f.send(canceling, v, v.cancelAction(f.opts.Now())); err != nil {
			return fmt.Errorf("the vehicle still has an order and did not confirm that it canceled it: %w", err)
		}
	}
	was := v.setStopped(false, f.opts.Now())
	defer func() {
		if err != nil && was {
			v.setStopped(true, f.opts.Now())
		}
	}()
	before, a := v.last(), action{ActionType: "stopPause", ActionID: v.unique("resume", f.opts.Now())}
	if err := f.instant(ctx, v, a); err != nil {
		return fmt.Errorf("the action was not sent: %w", err)
	}
	waiting, _, release := f.acceptance(ctx)
	defer release()
	var failed error
	if err := v.await(waiting, func(s *state) bool {
		if s == before {
			return false // reported before it was told
		}
		if s.Paused {
			_, failed = s.action(a.ActionID)
		}
		return !s.Paused || failed != nil
	}); err != nil {
		return err
	}
	return failed
}

// Refresh implements [devices.Refresher].
func (f *Fleet) Refresh(ctx context.Context, deviceID string) error {
	v := f.vehicles[deviceID]
	if v == nil {
		return fmt.Errorf("there is no vehicle %q", deviceID)
	}
	before := v.last()
	if err := f.instant(ctx, v, action{ActionType: "stateRequest", ActionID: v.unique("state", f.opts.Now())}); err != nil {
		return err
	}
	return v.await(ctx, func(s *state) bool { return s != before })
}
