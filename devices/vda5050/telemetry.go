package vda5050

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/runes"
)

// telemetry returns what a state message reports.
func (s *state) telemetry() devices.Telemetry {
	t := devices.Telemetry{Time: timeOf(s.Timestamp), State: s.deviceState(), Stop: s.stop()}
	t.Pose, t.Velocity = poseOf(s.Position, s.Velocity)
	if s.Battery != nil && s.Battery.Charge >= 0 && s.Battery.Charge <= 100 {
		charge := s.Battery.Charge
		t.Battery, t.Charging = &charge, s.Battery.Charging
	}
	for _, e := range s.Errors[:min(len(s.Errors), devices.MaxFaults)] {
		text := strings.TrimSpace(e.Level + " " + e.Type + " " + e.Description)
		t.Faults = append(t.Faults, runes.Cut(runes.Valid(strings.ReplaceAll(text, "\x00", "")), devices.MaxFaultText))
	}
	for _, l := range s.Loads[:min(len(s.Loads), devices.MaxLoads)] {
		t.Loads = append(t.Loads, runes.Cut(runes.Valid(strings.ReplaceAll(cmp.Or(l.LoadID, l.LoadType, "load"), "\x00", "")), devices.MaxFaultText))
	}
	return t
}

// deviceState returns the state of the device that a message reports.
func (s *state) deviceState() devices.State {
	running := func(a actionState) bool { return a.Status == "RUNNING" || a.Status == "INITIALIZING" }
	switch {
	case s.fatal() != "":
		return devices.Error
	case s.OperatingMode == "MANUAL" || s.OperatingMode == "SERVICE" || s.OperatingMode == "TEACHIN":
		return devices.Maintenance
	case s.OperatingMode != "AUTOMATIC" && s.OperatingMode != "SEMIAUTOMATIC" || s.Safety.EStop == "":
		return devices.Unknown
	case s.Driving || len(s.NodeStates) > 0 || slices.ContainsFunc(s.ActionStates, running):
		return devices.Working
	}
	return devices.Idle
}

// ordered reports whether the vehicle has a way before it.
func (s *state) ordered() bool { return len(s.NodeStates) > 0 || len(s.EdgeStates) > 0 }

// busy reports whether the vehicle drives or has a way before it.
func (s *state) busy() bool { return s.Driving || s.ordered() }

// fatal returns the error that keeps the vehicle from working; empty if there is none.
func (s *state) fatal() string {
	if i := slices.IndexFunc(s.Errors, vehicleError.fatal); i >= 0 {
		return cmp.Or(strings.TrimSpace(s.Errors[i].Type+" "+s.Errors[i].Description), "a fatal error")
	}
	return ""
}

// stop returns the emergency stop. One that the vehicle acknowledges by itself or that is acknowledged at the vehicle is local.
func (s *state) stop() devices.Stop {
	switch s.Safety.EStop {
	case "NONE", "":
		return devices.NoStop
	case "REMOTE":
		return devices.RemoteStop
	}
	return devices.LocalStop
}

// poseOf returns a pose, and the velocity in the coordinates of its map; nil for a position that the vehicle itself does not know.
func poseOf(p *position, v *velocity) (*devices.Pose, *devices.Velocity) {
	if p == nil || !p.Initialized {
		return nil, nil
	}
	pose := &devices.Pose{Map: p.MapID, X: p.X, Y: p.Y, Theta: p.Theta}
	if v == nil {
		return pose, nil
	}
	sin, cos := math.Sincos(p.Theta)
	return pose, &devices.Velocity{X: v.VX*cos - v.VY*sin, Y: v.VX*sin + v.VY*cos, Omega: v.Omega}
}

// timeOf returns the zero time for one that cannot be read.
func timeOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
