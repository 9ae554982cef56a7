package simexec

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
)

// Kind is a kind of robot.
type Kind string

// The kinds.
const (
	Mobile Kind = "mobile"
	Arm    Kind = "arm" // stands where it is and has no battery
)

// Robot is a simulated device.
type Robot struct {
	ID   string
	Kind Kind // default Mobile
	Map  string
	X, Y float64 // metres, at the beginning
	// Speed is its highest speed in metres a second. Default 1.
	Speed float64
	// Battery is its charge at the beginning in percent. Default 80.
	Battery float64
	// PerMetre is the charge that it uses, in percent a metre. Default 0.02.
	PerMetre float64
	// Chargers are places where it charges while it stands there.
	Chargers []Point
}

// Point is a place on the map of a robot, in metres.
type Point struct{ X, Y float64 }

// Options are the options of [New].
type Options struct {
	Robots []Robot
	// Step is how often robots move and report. Default 200 ms.
	Step time.Duration
	// Handling is how long a robot takes to pick up or release something. Default 2 s.
	Handling time.Duration
	// ChargeRate is how fast a robot charges, in percent a second. Default 0.5.
	ChargeRate float64
	// FaultEvery is the mean time between the faults of a robot; 0: none. A fault lasts until the command ClearError.
	FaultEvery time.Duration
	Seed       uint64
}

func (o Options) withDefaults() (Options, error) {
	o.Step = cmp.Or(o.Step, 200*time.Millisecond)
	o.Handling = cmp.Or(o.Handling, 2*time.Second)
	o.ChargeRate = cmp.Or(o.ChargeRate, 0.5)
	if o.Step < 0 || o.Handling < 0 || o.FaultEvery < 0 || !(o.ChargeRate > 0) {
		return o, fault.Option("simexec", "Options", "must have no negative member")
	}
	robots, seen := append([]Robot(nil), o.Robots...), map[string]bool{}
	for i := range robots {
		r, path := &robots[i], fmt.Sprintf("Options.Robots[%d]", i)
		r.Kind = cmp.Or(r.Kind, Mobile)
		r.Speed, r.Battery, r.PerMetre = cmp.Or(r.Speed, 1), cmp.Or(r.Battery, 80), cmp.Or(r.PerMetre, 0.02)
		switch {
		case r.ID == "" || seen[r.ID]:
			return o, fault.Option("simexec", path+".ID", "must be there and unique, not %q", r.ID)
		case r.Kind != Mobile && r.Kind != Arm:
			return o, fault.Option("simexec", path+".Kind", "must be mobile or arm, not %q", r.Kind)
		case math.IsNaN(r.X+r.Y) || math.IsInf(r.X+r.Y, 0):
			return o, fault.Option("simexec", path, "must have finite coordinates")
		case !(r.Speed > 0) || !(r.PerMetre >= 0) || !(r.Battery >= 0 && r.Battery <= 100):
			return o, fault.Option("simexec", path, "must have Speed above 0, PerMetre 0 or more and Battery 0 to 100")
		}
		seen[r.ID] = true
	}
	o.Robots = robots
	return o, nil
}
