package simexec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/devices"
)

// The commands that a simulated robot knows beside those of package devices.
const (
	Charge     = "Charge"     // charge to the parameter "percent", default 95, at the charger where it stands
	ClearError = "ClearError" // end a fault
)

// chargerRadius is how near to a charger a robot charges, in metres.
const chargerRadius = 0.5

// Simulator moves robots. It implements [devices.Executor] and [devices.Resetter] for all of them. Safe for concurrent use.
// Nothing moves unless Run runs.
type Simulator struct {
	opts   Options
	mu     sync.Mutex
	robots map[string]*robot
}

type robot struct {
	Robot
	heading  float64
	velocity devices.Velocity
	charging bool
	stopped  devices.Stop
	fault    string
	load     string
	random   *rand.Rand
	task     *task
}

// task is what a robot does. Its end is sent to done once.
type task struct {
	goal   *Point
	speed  float64
	until  time.Duration // left of the time that it takes
	charge float64       // to reach
	load   *string       // to have at the end
	done   chan error
}

// New returns a simulator whose robots stand where Options put them.
func New(o Options) (*Simulator, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Simulator{opts: o, robots: map[string]*robot{}}
	for i, r := range o.Robots {
		s.robots[r.ID] = &robot{Robot: r, random: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
	}
	return s, nil
}

// Has reports whether a device is one of the robots.
func (s *Simulator) Has(id string) bool {
	_, ok := s.robots[id]
	return ok
}

// Run moves the robots until ctx ends, and reports each after each step. An error of report is ignored: the next one comes soon.
func (s *Simulator) Run(ctx context.Context, report func(id string, t devices.Telemetry) error) error {
	ticker := time.NewTicker(s.opts.Step)
	defer ticker.Stop()
	for {
		for id, t := range s.step() {
			_ = report(id, t)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// step moves every robot by one step and returns what they report.
func (s *Simulator) step() map[string]devices.Telemetry {
	s.mu.Lock()
	defer s.mu.Unlock()
	reports := make(map[string]devices.Telemetry, len(s.robots))
	for _, id := range slices.Sorted(maps.Keys(s.robots)) {
		r := s.robots[id]
		s.advance(r)
		reports[id] = r.report()
	}
	return reports
}

func (s *Simulator) advance(r *robot) {
	dt := s.opts.Step.Seconds()
	r.velocity = devices.Velocity{}
	r.charging = r.Kind == Mobile && r.docked() && r.Battery < 100
	if s.opts.FaultEvery > 0 && r.fault == "" && r.random.Float64() < dt/s.opts.FaultEvery.Seconds() {
		r.fail("drive blocked")
	}
	switch t := r.task; {
	case r.stopped != devices.NoStop || r.fault != "":
		r.end(errors.New(r.why()))
	case t == nil:
	case t.goal != nil:
		r.move(t, dt)
	case t.charge > 0:
		if r.Battery >= t.charge {
			r.end(nil)
		}
	default:
		if t.until -= s.opts.Step; t.until <= 0 {
			r.load = *t.load
			r.end(nil)
		}
	}
	if r.charging {
		r.Battery = math.Min(100, r.Battery+s.opts.ChargeRate*dt)
	}
}

func (r *robot) move(t *task, dt float64) {
	dx, dy := t.goal.X-r.X, t.goal.Y-r.Y
	left := math.Hypot(dx, dy)
	way := math.Min(left, t.speed*dt)
	if use := way * r.PerMetre; use > r.Battery {
		r.Battery = 0
		r.fail("battery empty")
		return
	}
	r.Battery -= way * r.PerMetre
	if left > 0 {
		r.heading = math.Atan2(dy, dx)
		r.X, r.Y = r.X+dx/left*way, r.Y+dy/left*way
	}
	if way == left {
		r.X, r.Y = t.goal.X, t.goal.Y
		r.end(nil)
		return
	}
	r.velocity = devices.Velocity{X: dx / left * t.speed, Y: dy / left * t.speed}
}

func (r *robot) docked() bool {
	return slices.ContainsFunc(r.Chargers, func(c Point) bool { return math.Hypot(c.X-r.X, c.Y-r.Y) <= chargerRadius })
}

func (r *robot) fail(why string) {
	r.fault = why
	r.end(errors.New(why))
}

func (r *robot) end(err error) {
	if r.task != nil {
		r.task.done <- err
		r.task = nil
	}
}

func (r *robot) why() string {
	if r.stopped != devices.NoStop {
		return "emergency stop"
	}
	return r.fault
}

func (r *robot) report() devices.Telemetry {
	velocity := r.velocity
	t := devices.Telemetry{Pose: &devices.Pose{Map: r.Map, X: r.X, Y: r.Y, Theta: r.heading}, Velocity: &velocity, Charging: r.charging,
		State: devices.Idle, Stop: r.stopped}
	if r.Kind == Mobile {
		charge := r.Battery
		t.Battery = &charge
	}
	if r.load != "" {
		t.Loads = []string{r.load}
	}
	switch {
	case r.fault != "":
		t.State, t.Faults = devices.Error, []string{r.fault}
	case r.task != nil:
		t.State = devices.Working
	}
	return t
}

// Execute implements [devices.Executor].
func (s *Simulator) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	s.mu.Lock()
	r := s.robots[o.DeviceID]
	if r == nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("there is no robot %q", o.DeviceID)
	}
	t, err := s.plan(r, o)
	if err == nil && t != nil {
		r.task = t
	}
	s.mu.Unlock()
	if err != nil || t == nil {
		return nil, err
	}
	select {
	case err = <-t.done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.task == t {
		r.task = nil
	}
	return map[string]any{"x": r.X, "y": r.Y, "map": r.Map}, err
}

// plan returns the task of an order; nil when it is done at once. s.mu is held.
func (s *Simulator) plan(r *robot, o devices.Order) (*task, error) {
	t := &task{done: make(chan error, 1)}
	switch {
	case o.Type == ClearError:
		r.fault = ""
		return nil, nil
	case r.stopped != devices.NoStop || r.fault != "":
		return nil, errors.New(r.why())
	}
	switch o.Type {
	case devices.MoveTo:
		if r.Kind == Arm || o.Move == nil {
			return nil, errors.New("the robot cannot move")
		}
		if m := o.Move.Map; m != "" && m != r.Map {
			return nil, fmt.Errorf("the robot is on map %q, not on %q", r.Map, m)
		}
		t.goal, t.speed = &Point{o.Move.X, o.Move.Y}, r.Speed
		if o.MaxSpeed > 0 {
			t.speed = math.Min(t.speed, o.MaxSpeed)
		}
		if asked := o.Move.Speed; asked != nil {
			t.speed = math.Min(t.speed, *asked)
		}
	case devices.PickUp:
		if r.load != "" {
			return nil, fmt.Errorf("the robot carries %q", r.load)
		}
		what, _ := o.Parameters["target"].(string)
		if what == "" {
			what = "load"
		}
		t.until, t.load = s.opts.Handling, &what
	case devices.Release:
		if r.load == "" {
			return nil, errors.New("the robot carries nothing")
		}
		t.until, t.load = s.opts.Handling, new(string)
	case Charge:
		if !r.docked() {
			return nil, errors.New("the robot is at no charger")
		}
		t.charge = 95
		if percent, ok := o.Parameters["percent"].(float64); ok && percent > 0 && percent <= 100 {
			t.charge = percent
		}
	default:
		return nil, fmt.Errorf("command type %q is not known", o.Type)
	}
	return t, nil
}

// Stop implements [devices.Executor].
func (s *Simulator) Stop(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.robots[id]
	if r == nil {
		return fmt.Errorf("there is no robot %q", id)
	}
	if r.stopped == devices.NoStop {
		r.stop(devices.RemoteStop)
	}
	return nil
}

func (r *robot) stop(kind devices.Stop) {
	r.stopped, r.velocity = kind, devices.Velocity{}
	r.end(errors.New("emergency stop"))
}

// Press presses the emergency stop of a robot, or releases it. A released one ends by a reset.
func (s *Simulator) Press(id string, pressed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := s.robots[id]; {
	case r == nil:
	case pressed:
		r.stop(devices.LocalStop)
	case r.stopped == devices.LocalStop:
		r.stopped = devices.RemoteStop
	}
}

// Reset implements [devices.Resetter].
func (s *Simulator) Reset(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.robots[id]; r != nil && r.stopped == devices.RemoteStop {
		r.stopped = devices.NoStop
	}
	return nil
}
