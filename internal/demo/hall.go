package demo

import (
	"log/slog"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/simexec"
)

// The devices of the demo.
const (
	RobotID = "sim-amr-1"
	ArmID   = "sim-arm-1"
)

// hall is the map on which they are: 50 m by 30 m, with a press in the middle that no device may touch.
const hall = "demo-hall"

var (
	corners  = []simexec.Point{{X: 5, Y: 5}, {X: 45, Y: 5}, {X: 45, Y: 22}, {X: 5, Y: 24}} // the way around the press
	chargers = []simexec.Point{{X: 2, Y: 15}, {X: 48, Y: 13}}
	armPlace = simexec.Point{X: 48, Y: 28}
)

const (
	perMetre = 0.15 // percent, so that the robot has to charge every few minutes
	minimum  = 20   // percent
	speed    = 2    // metres a second
)

// stepTime is how often the devices move and report.
const stepTime = 500 * time.Millisecond

func newSimulator(faultEvery time.Duration) (*simexec.Simulator, error) {
	return simexec.New(simexec.Options{Step: stepTime, Handling: 5 * time.Second, ChargeRate: 1, FaultEvery: faultEvery, Seed: seed, Robots: []simexec.Robot{
		{ID: RobotID, Map: hall, X: corners[0].X, Y: corners[0].Y, Speed: speed, PerMetre: perMetre, Chargers: chargers},
		{ID: ArmID, Kind: simexec.Arm, Map: hall, X: armPlace.X, Y: armPlace.Y},
	}})
}

// newPolicies returns the policies for the demo's devices.
func newPolicies() (devices.Safety, error) {
	rectangle := func(x, y, width, height float64) [][][2]float64 {
		return [][][2]float64{{{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}}}
	}
	o := safety.Options{
		Zones: []safety.Zone{
			{Name: "hall", Map: hall, Kind: safety.Allowed, Rings: rectangle(0, 0, 50, 30)},
			{Name: "press", Map: hall, Kind: safety.KeepOut, Rings: rectangle(20, 12, 10, 6)},
			{Name: "charging", Map: hall, Kind: safety.Speed, MaxSpeed: 1, Rings: rectangle(0, 12, 4, 6)},
		},
		Battery: minimum,
		Devices: map[string]safety.Device{RobotID: {MaxSpeed: speed, PerMetre: perMetre}, ArmID: {Mains: true}},
	}
	for _, c := range chargers {
		o.Chargers = append(o.Chargers, safety.Charger{Map: hall, X: c.X, Y: c.Y})
	}
	return safety.New(o)
}

// robotPlan takes a pallet from one corner to the opposite one and goes back empty.
func robotPlan() []step {
	return []step{moveTo(corners[1]), {devices.PickUp, map[string]any{"target": "pallet"}}, moveTo(corners[2]), moveTo(corners[3]),
		{command: devices.Release}, moveTo(corners[0])}
}

// armPlan handles parts all the time.
func armPlan() []step {
	return []step{{devices.PickUp, map[string]any{"target": "part"}}, {command: devices.Release}}
}

// ownPolicies judges devices in the demo's hall by its own policies, and others by theirs.
type ownPolicies struct{ own, others devices.Safety }

// Check implements devices.Safety.
func (p ownPolicies) Check(s devices.Situation) devices.Decision {
	if t := s.Device.Telemetry; s.Device.ID == RobotID || s.Device.ID == ArmID || t != nil && t.Pose != nil && t.Pose.Map == hall {
		return p.own.Check(s)
	}
	return p.others.Check(s)
}

// Zones implements safety.Zoned.
func (p ownPolicies) Zones() (zones []safety.Zone) {
	for _, one := range []devices.Safety{p.own, p.others} {
		if z, ok := one.(safety.Zoned); ok {
			zones = append(zones, z.Zones()...)
		}
	}
	return zones
}

func newDispatchers(s *devices.Service, log *slog.Logger) []*dispatcher {
	return []*dispatcher{
		{service: s, log: log, device: RobotID, plan: robotPlan(), chargers: chargers},
		{service: s, log: log, device: ArmID, plan: armPlan()},
	}
}
