package vda5050

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	last := v.last()
	if last == nil {
		return nil, errors.New("the vehicle has not reported its state yet")
	}
	switch o.Type {
	case devices.MoveTo, devices.PickUp, devices.Release:
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
	m.Edges = append(m.Edges, edge{EdgeID: "way-" + o.ID, SequenceID: 1, Released: true, StartNodeID: here.NodeID, EndNodeID: to.NodeID, MaxSpeed: o.MaxSpeed,
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
	taken := false
	err := v.await(ctx, func(s *state) (done bool) {
		if taken && s.OrderID != m.OrderID {
			failed = fmt.Errorf("%w: it has another order: %s", devices.ErrUnknownOutcome, s.OrderID)
			return true
		}
		taken = s.OrderID == m.OrderID
		done, failed = s.progress(m)
		return done
	})
	if err != nil {
		v.begin(nil) // a reconnection must not repeat what is canceled
		return nil, f.stopped(ctx, v, err)
	}
	return result(v.last()), failed
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
	return true, nil
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

// stopped cancels what a vehicle does, unless the service stops, and returns the error for the command.
func (f *Fleet) stopped(ctx context.Context, v *vehicle, cause error) error {
	if errors.Is(cause, devices.ErrClosed) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.opts.CancelTimeout)
	defer cancel()
	if _, err := f.send(ctx, v, action{ActionType: "cancelOrder", ActionID: v.unique("cancel", f.opts.Now())}); err != nil {
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
	if err := v.await(ctx, func(s *state) (ended bool) {
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
	actions := f.stopActions(v)
	for {
		err := f.instant(ctx, v, actions...)
		if err == nil {
			break
		}
		if !backoff.Wait(ctx, 100*time.Millisecond) { // the broker may come back in time
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

// stopActions returns what stops a vehicle. A vehicle that is not reached gets it again when it is.
func (f *Fleet) stopActions(v *vehicle) []action {
	now := f.opts.Now()
	return []action{{ActionType: "startPause", ActionID: v.unique("pause", now), BlockingType: "HARD"}, {ActionType: "cancelOrder", ActionID: v.unique("cancel", now)}}
}

// Reset implements [devices.Resetter].
func (f *Fleet) Reset(ctx context.Context, deviceID string) error {
	v := f.vehicles[deviceID]
	if v == nil {
		return fmt.Errorf("there is no vehicle %q", deviceID)
	}
	v.setStopped(false, f.opts.Now())
	_, err := f.send(ctx, v, action{ActionType: "stopPause", ActionID: v.unique("resume", f.opts.Now())})
	return err
}
