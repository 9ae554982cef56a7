package main

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

const (
	step     = 100 * time.Millisecond
	handling = time.Second // of an action of an order
)

// vehicle is what drives.
type vehicle struct {
	state    state
	speed    float64
	every    time.Duration // at which it sends its state
	reported time.Time
	asked    bool // for its factsheet

	order  *order
	target int           // index of the node that it drives to or stands at
	action int           // index of the next action there
	left   time.Duration // of the action in progress
}

func newVehicle(at position, speed float64, every time.Duration) *vehicle {
	return &vehicle{speed: speed, every: every, state: state{OperatingMode: "AUTOMATIC", Safety: safety{EStop: "NONE"}, NodeStates: []nodeState{}, EdgeStates: []edgeState{},
		ActionStates: []actionState{}, Errors: []vehicleError{}, Battery: battery{Charge: 80}, Position: at}}
}

// handle takes a message.
func (v *vehicle) handle(name string, payload []byte) error {
	switch name {
	case "order":
		var o order
		if err := json.Unmarshal(payload, &o); err != nil {
			return fmt.Errorf("order: %w", err)
		}
		v.accept(&o)
	case "instantActions":
		var i instantActions
		if err := json.Unmarshal(payload, &i); err != nil {
			return fmt.Errorf("instantActions: %w", err)
		}
		for _, a := range i.Actions {
			v.instant(a)
		}
	}
	return nil
}

// accept begins an order. One that it has already is discarded, one that comes while it is busy is refused.
func (v *vehicle) accept(o *order) {
	s := &v.state
	switch {
	case o.OrderID == s.OrderID:
		return
	case v.order != nil:
		s.Errors = []vehicleError{{Type: "orderError", Level: "WARNING", Description: "the vehicle has an order",
			References: []reference{{Key: "orderId", Value: o.OrderID}}}}
		return
	}
	s.OrderID, s.OrderUpdateID, s.Errors = o.OrderID, o.OrderUpdateID, []vehicleError{}
	s.NodeStates, s.EdgeStates, s.ActionStates = []nodeState{}, []edgeState{}, []actionState{}
	for _, n := range o.Nodes {
		s.NodeStates = append(s.NodeStates, nodeState{n.NodeID, n.SequenceID, n.Released})
		for _, a := range n.Actions {
			s.ActionStates = append(s.ActionStates, actionState{ID: a.ID, Type: a.Type, Status: "WAITING"})
		}
	}
	for _, e := range o.Edges {
		s.EdgeStates = append(s.EdgeStates, edgeState{e.EdgeID, e.SequenceID, e.Released})
	}
	v.order, v.target, v.action, v.left = o, 0, 0, 0
}

func (v *vehicle) instant(a action) {
	status, result := "FINISHED", ""
	switch a.Type {
	case "cancelOrder":
		v.end()
	case "startPause":
		v.state.Paused = true
	case "stopPause":
		v.state.Paused = false
	case "factsheetRequest":
		v.asked = true
	case "stateRequest":
	default:
		status, result = "FAILED", "unknown action "+a.Type
	}
	v.set(actionState{ID: a.ID, Type: a.Type, Status: status, Result: result})
}

// factsheet returns what the vehicle can do.
func (v *vehicle) factsheet() *factsheet {
	v.asked = false
	return &factsheet{
		Type: values{"seriesName": "otkit example", "agvKinematic": "DIFF", "agvClass": "CARRIER", "maxLoadMass": 100,
			"localizationTypes": []string{"NATURAL"}, "navigationTypes": []string{"AUTONOMOUS"}},
		Physical: values{"speedMin": 0, "speedMax": v.speed, "accelerationMax": 1, "decelerationMax": 1, "heightMax": 0.5, "width": 0.6, "length": 0.8},
		Limits:   values{"maxStringLens": values{}, "maxArrayLens": values{}, "timing": values{"minOrderInterval": 0, "minStateInterval": step.Seconds()}},
		Features: values{"optionalParameters": []string{}, "agvActions": []string{}}, Geometry: values{}, Load: values{},
	}
}

func (v *vehicle) set(a actionState) {
	for i := range v.state.ActionStates {
		if v.state.ActionStates[i].ID == a.ID {
			v.state.ActionStates[i] = a
			return
		}
	}
	v.state.ActionStates = append(v.state.ActionStates, a)
}

// end ends the order, done or not.
func (v *vehicle) end() {
	for i := range v.state.ActionStates {
		if a := &v.state.ActionStates[i]; v.order != nil && a.Status != "FINISHED" && a.Status != "FAILED" {
			a.Status = "FAILED"
		}
	}
	v.order, v.state.Driving = nil, false
	v.state.NodeStates, v.state.EdgeStates = []nodeState{}, []edgeState{}
}

// move does one step and reports whether something has changed.
func (v *vehicle) move() bool {
	switch {
	case v.order == nil:
		return false
	case v.state.Paused:
		v.state.Driving = false
		return false
	}
	n := v.order.Nodes[v.target]
	if n.Position != nil && !v.reach(n) {
		return true
	}
	v.state.Driving = false
	if len(v.state.NodeStates) == len(v.order.Nodes)-v.target { // it has just come there
		v.state.LastNodeID, v.state.LastNodeSequenceID = n.NodeID, n.SequenceID
		v.state.NodeStates = v.state.NodeStates[1:]
		if v.target > 0 {
			v.state.EdgeStates = v.state.EdgeStates[1:]
		}
	}
	if v.action < len(n.Actions) {
		if v.work(n.Actions[v.action]); v.action < len(n.Actions) {
			return true
		}
	}
	if v.target++; v.target == len(v.order.Nodes) {
		v.end()
	}
	v.action = 0
	return true
}

// reach drives towards a node and reports whether the vehicle is there.
func (v *vehicle) reach(n node) bool {
	p, speed := &v.state.Position, v.speed
	if v.target > 0 {
		if limit := v.order.Edges[v.target-1].MaxSpeed; limit > 0 {
			speed = math.Min(speed, limit)
		}
	}
	dx, dy := n.Position.X-p.X, n.Position.Y-p.Y
	left, way := math.Hypot(dx, dy), speed*step.Seconds()
	if left <= way {
		p.X, p.Y = n.Position.X, n.Position.Y
		return true
	}
	v.state.Driving = true
	p.Theta = math.Atan2(dy, dx)
	p.X, p.Y = p.X+dx/left*way, p.Y+dy/left*way
	v.state.Battery.Charge = math.Max(0, v.state.Battery.Charge-way*0.01)
	return false
}

// work goes on with an action of a node.
func (v *vehicle) work(a action) {
	if v.left == 0 {
		v.left = handling
	}
	v.left -= step
	s := actionState{ID: a.ID, Type: a.Type, Status: "RUNNING"}
	if v.left <= 0 {
		v.action++
		v.left = 0
		s.Status, s.Result = v.handled(a)
	}
	v.set(s)
}

func (v *vehicle) handled(a action) (status, result string) {
	loaded := len(v.state.Loads) > 0
	switch {
	case a.Type == "pick" && !loaded:
		v.state.Loads = []load{{ID: "load"}}
	case a.Type == "drop" && loaded:
		v.state.Loads = nil
	default:
		return "FAILED", "cannot " + a.Type
	}
	return "FINISHED", ""
}
