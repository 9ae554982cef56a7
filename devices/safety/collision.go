package safety

import (
	"fmt"
	"math"

	"github.com/otkit/otkit/devices"
)

const noLimit = math.MaxFloat64

func (p point) String() string { return fmt.Sprintf("(%.2f, %.2f)", p.x, p.y) }

// collision refuses a way on which the device would come too close to another one. Both are discs that move straight: the device
// to its target, another device along the way that is reserved for it, and then rest. A device whose reports are old may be
// anywhere on its way, so all of that way is taken.
type collision struct {
	opts *Options
	site site
}

func (collision) Name() string { return "collision" }

func (p collision) Check(s devices.Situation) devices.Verdict {
	if s.Command.Type == devices.ResetEmergencyStop {
		return skip("a reset moves nothing")
	}
	if s.Move == nil {
		return skip("the command moves nothing")
	}
	pose, age, why := position(s, p.opts.MaxAge)
	if why != "" {
		return refuse(figures(age), "%s", why)
	}
	path, why := way(s, pose)
	if why != "" {
		return refuse(figures(age), "%s", why)
	}
	v, _ := p.opts.limit(p.site, s.Device.ID, pose.Map, path)
	if s.Move.Speed != nil {
		v = math.Min(v, *s.Move.Speed)
	}
	if !finite(v) || v <= 0 {
		return refuse(nil, "the speed is not above 0")
	}
	own, radius, near := newMotion(path, v), p.opts.device(s.Device.ID).Radius, noLimit
	for i := range s.Others {
		o := &s.Others[i]
		taken, on := p.where(o, s)
		if on != pose.Map {
			continue
		}
		need := radius + p.opts.device(o.ID).Radius + p.opts.Separation
		if path.box().distance(taken.way.box()) > need {
			continue
		}
		distance, when := taken.closest(path, own)
		near = math.Min(near, distance-need)
		if !(distance >= need) { // also what is no number
			return refuse([]devices.Figure{age, {Name: "closest approach", Value: distance, Unit: "m"}, {Name: "needed", Value: need, Unit: "m"},
				{Name: "in", Value: when, Unit: "s"}}, "the way to %s comes within %.2f m of device %s after %.1f s, needed are %.2f m", path.b, distance, o.ID, when, need)
		}
	}
	found := []devices.Figure{age, {Name: "others", Value: float64(len(s.Others))}}
	if near < noLimit {
		found = append(found, devices.Figure{Name: "spare distance", Value: near, Unit: "m"})
	}
	return allow(found...)
}

// taken is the space that another device takes: a motion, or the whole of a way.
type taken struct {
	way    segment
	motion motion
	whole  bool
}

// where returns the space that another device takes and its map; the map is "\x00" if the device has never reported a position and
// has no way reserved, and so is not taken to be there.
func (p collision) where(o *devices.Other, s devices.Situation) (taken, string) {
	var at *devices.Pose
	if o.Telemetry != nil {
		at = o.Telemetry.Pose
	}
	fresh := o.Telemetry != nil && s.Now.Sub(o.Telemetry.Time).Abs() <= p.opts.MaxAge
	switch {
	case o.Path != nil:
		from, to := point{o.Path.FromX, o.Path.FromY}, point{o.Path.ToX, o.Path.ToY}
		if fresh && at != nil && at.Map == o.Path.Map && o.Path.Speed > 0 {
			way := segment{point{at.X, at.Y}, to}
			return taken{way: way, motion: newMotion(way, o.Path.Speed)}, at.Map
		}
		return taken{way: segment{from, to}, whole: true}, o.Path.Map
	case at == nil:
		return taken{}, "\x00"
	case fresh && o.Telemetry.Velocity != nil && finite(o.Telemetry.Velocity.X, o.Telemetry.Velocity.Y):
		// Nobody commanded it: it goes on as it does until its next report can be heard.
		seconds := p.opts.MaxAge.Seconds()
		way := segment{point{at.X, at.Y}, point{at.X + o.Telemetry.Velocity.X*seconds, at.Y + o.Telemetry.Velocity.Y*seconds}}
		return taken{way: way, motion: newMotion(way, math.Hypot(o.Telemetry.Velocity.X, o.Telemetry.Velocity.Y))}, at.Map
	}
	here := point{at.X, at.Y}
	return taken{way: segment{here, here}, whole: true}, at.Map
}

// closest returns how near a device comes to the space on its way, and after how many seconds.
func (t taken) closest(path segment, own motion) (distance, when float64) {
	if t.whole {
		return path.distance(t.way), 0
	}
	return closest(own, t.motion)
}
