package safety

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/devices"
)

// Policy judges one aspect of a command. Implementations are safe for concurrent use and do not block.
type Policy interface {
	// Name returns the name that reasons begin with, such as "geofence".
	Name() string
	// Check judges a command by its situation. It returns the verdict's Allowed, Reason, Figures and MaxSpeed;
	// the name is set by the [Chain].
	Check(devices.Situation) devices.Verdict
}

// Chain asks policies one after the other. The first that refuses decides. It implements [devices.Safety] and is safe for
// concurrent use.
type Chain struct {
	policies []Policy
}

// NewChain returns a chain of policies, in their order. A chain needs at least one.
func NewChain(policies ...Policy) (*Chain, error) {
	if len(policies) == 0 {
		return nil, errors.New("safety: policies are required")
	}
	for i, p := range policies {
		if p == nil {
			return nil, fmt.Errorf("safety: policies[%d] is required", i)
		}
	}
	return &Chain{policies: append([]Policy(nil), policies...)}, nil
}

// Append returns a chain that asks more policies after those of c.
func (c *Chain) Append(policies ...Policy) (*Chain, error) {
	return NewChain(append(append([]Policy(nil), c.policies...), policies...)...)
}

// Zoned is a [Policy] or a [devices.Safety] that judges by zones.
type Zoned interface {
	// Zones returns the zones in their order. They must not be changed.
	Zones() []Zone
}

// Zones returns the zones of the policies that are [Zoned]. They must not be changed.
func (c *Chain) Zones() (zones []Zone) {
	for _, p := range c.policies {
		if z, ok := p.(Zoned); ok {
			zones = append(zones, z.Zones()...)
		}
	}
	return zones
}

// Check implements [devices.Safety]. It does not ask about [devices.EmergencyStop]. A policy that panics refuses.
func (c *Chain) Check(s devices.Situation) devices.Decision {
	d := devices.Decision{Allowed: true, Time: s.Now}
	if s.Command.Type == devices.EmergencyStop {
		return d
	}
	for _, p := range c.policies {
		v := judge(p, s)
		d.Verdicts = append(d.Verdicts, v)
		if v.MaxSpeed > 0 && (d.MaxSpeed == 0 || v.MaxSpeed < d.MaxSpeed) {
			d.MaxSpeed = v.MaxSpeed
		}
		if !v.Allowed {
			d.Allowed, d.Policy, d.Reason = false, v.Policy, v.Policy+": "+v.Reason
			return d
		}
	}
	return d
}

func judge(p Policy, s devices.Situation) (v devices.Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = devices.Verdict{Reason: fmt.Sprintf("the policy failed: %v", r)}
		}
		v.Policy = p.Name()
	}()
	return p.Check(s)
}

// allow returns a verdict that allows.
func allow(figures ...devices.Figure) devices.Verdict {
	return devices.Verdict{Allowed: true, Figures: figures}
}

// skip returns a verdict that allows what the policy does not judge.
func skip(format string, args ...any) devices.Verdict {
	return devices.Verdict{Allowed: true, Reason: fmt.Sprintf(format, args...)}
}

// refuse returns a verdict that refuses.
func refuse(figures []devices.Figure, format string, args ...any) devices.Verdict {
	return devices.Verdict{Reason: fmt.Sprintf(format, args...), Figures: figures}
}

// telemetry returns the telemetry of a device if it is not older than maxAge, and otherwise why there is none to judge by.
func telemetry(s devices.Situation, maxAge time.Duration) (t *devices.Telemetry, age devices.Figure, why string) {
	t = s.Device.Telemetry
	if t == nil {
		return nil, age, "the device has not reported yet"
	}
	seconds := s.Now.Sub(t.Time).Seconds()
	age = devices.Figure{Name: "telemetry age", Value: seconds, Unit: "s"}
	if math.Abs(seconds) > maxAge.Seconds() { // below 0 if the clock was set back
		return nil, age, fmt.Sprintf("the last report of the device is %.1f s old, allowed are %.1f s", seconds, maxAge.Seconds())
	}
	return t, age, ""
}

// position returns the pose of a device if it is known and recent.
func position(s devices.Situation, maxAge time.Duration) (p devices.Pose, age devices.Figure, why string) {
	t, age, why := telemetry(s, maxAge)
	switch {
	case why != "":
		return p, age, why
	case t.Pose == nil:
		return p, age, "the device does not report its position"
	case !finite(t.Pose.X, t.Pose.Y):
		return p, age, "the position of the device is not finite"
	}
	return *t.Pose, age, ""
}

// way returns the straight way that a command takes from p; it ends at p for a command that does not move the device.
func way(s devices.Situation, p devices.Pose) (segment, string) {
	from := point{p.X, p.Y}
	if s.Move == nil {
		return segment{from, from}, ""
	}
	switch {
	case !finite(s.Move.X, s.Move.Y):
		return segment{}, "the target is not finite"
	case s.Move.Map != "" && s.Move.Map != p.Map:
		return segment{}, fmt.Sprintf("the target is on map %q, the device on %q", s.Move.Map, p.Map)
	}
	return segment{from, point{s.Move.X, s.Move.Y}}, ""
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
