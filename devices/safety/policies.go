package safety

import (
	"fmt"

	"github.com/otkit/otkit/devices"
)

// New returns the policies of this package in their order.
func New(o Options) (*Chain, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := newSite(o.Zones)
	if err != nil {
		return nil, fmt.Errorf("safety: Options.Zones: %w", err)
	}
	return NewChain(stop{&o}, geofence{&o, s}, battery{&o}, collision{&o, s}, speed{&o, s}, mode{})
}

// stop refuses everything but a reset while an emergency stop is latched or reported.
type stop struct{ opts *Options }

func (stop) Name() string { return "emergency stop" }

func (p stop) Check(s devices.Situation) devices.Verdict {
	t, age, why := telemetry(s, p.opts.MaxAge)
	switch {
	case s.Device.StopLatched && s.Command.Type != devices.ResetEmergencyStop:
		return refuse(nil, "the emergency stop of the device is latched until it is reset")
	case why != "":
		return refuse(figures(age), "%s", why)
	case t.Stop == devices.LocalStop:
		return refuse(figures(age), "the device reports an emergency stop that must be released there")
	case t.Stop != devices.NoStop && s.Command.Type != devices.ResetEmergencyStop:
		return refuse(figures(age), "the device reports an emergency stop")
	}
	return allow(age)
}

// geofence refuses a way that leaves the allowed zones or touches a keep-out zone.
type geofence struct {
	opts *Options
	site site
}

func (geofence) Name() string { return "geofence" }

// Zones implements [Zoned]. They are those of the policy of speed too.
func (p geofence) Zones() []Zone { return p.opts.Zones }

func (p geofence) Check(s devices.Situation) devices.Verdict {
	if s.Command.Type == devices.ResetEmergencyStop {
		return skip("a reset moves nothing")
	}
	pose, age, why := position(s, p.opts.MaxAge)
	if why != "" {
		return refuse(figures(age), "%s", why)
	}
	f := p.site[pose.Map]
	if s.Move != nil && s.Move.Map != "" && p.site[s.Move.Map] == nil {
		return refuse(nil, "map %q has no zones", s.Move.Map)
	}
	if f == nil || len(f.allowed) == 0 {
		return refuse(nil, "map %q has no allowed zone", pose.Map)
	}
	path, why := way(s, pose)
	if why != "" {
		return refuse(nil, "%s", why)
	}
	radius := p.opts.device(s.Device.ID).Radius
	free := f.allowed.clearance(path, noLimit)
	found := []devices.Figure{age, {Name: "way", Value: path.length(), Unit: "m"}, {Name: "radius", Value: radius, Unit: "m"},
		{Name: "distance to the border", Value: free, Unit: "m"}}
	switch {
	case !f.allowed.contains(path.a):
		return refuse(found, "the device at %s is outside of the allowed zones of map %q", path.a, pose.Map)
	case !f.allowed.contains(path.b):
		return refuse(found, "the target %s is outside of the allowed zones of map %q", path.b, pose.Map)
	case free <= radius+margin:
		return refuse(found, "the way to %s comes within %.2f m of the border of the allowed zones, the device needs %.2f m", path.b, free, radius)
	}
	for _, k := range f.keepOuts {
		if k.touches(path, radius) {
			return refuse(found, "the way to %s touches keep-out zone %q, the device needs %.2f m around it", path.b, k.name, radius)
		}
	}
	return allow(found...)
}

// battery refuses what would leave less charge than the threshold, except for a way to a charger that the charge lasts for, and for
// what does not move a device at a charger.
type battery struct{ opts *Options }

func (battery) Name() string { return "battery" }

func (p battery) Check(s devices.Situation) devices.Verdict {
	d := p.opts.device(s.Device.ID)
	switch {
	case s.Command.Type == devices.ResetEmergencyStop:
		return skip("a reset needs no charge")
	case d.Mains:
		return skip("the device has no battery")
	}
	t, age, why := telemetry(s, p.opts.MaxAge)
	switch {
	case why != "":
		return refuse(figures(age), "%s", why)
	case t.Battery == nil || !finite(*t.Battery):
		return refuse(figures(age), "the device does not report its charge")
	}
	trip, least := 0.0, p.opts.Battery
	if s.Move != nil {
		pose, _, why := position(s, p.opts.MaxAge)
		if why != "" {
			return refuse(figures(age), "%s", why)
		}
		path, why := way(s, pose)
		if why != "" {
			return refuse(figures(age), "%s", why)
		}
		trip = path.length() * d.PerMetre
		if p.opts.charger(pose.Map, path.b) {
			least = 0
		}
	} else if pose := t.Pose; pose != nil && p.opts.charger(pose.Map, point{pose.X, pose.Y}) {
		least = 0 // it charges there
	}
	found := []devices.Figure{age, {Name: "charge", Value: *t.Battery, Unit: "%"}, {Name: "trip", Value: trip, Unit: "%"}, {Name: "threshold", Value: least, Unit: "%"}}
	if left := *t.Battery - trip; left < least {
		return refuse(found, "the charge of %.1f %% less %.1f %% for the way is below %.1f %%", *t.Battery, trip, least)
	}
	return allow(found...)
}

func (o *Options) charger(m string, target point) bool {
	for _, c := range o.Chargers {
		if c.Map == m && (segment{a: point{c.X, c.Y}, b: target}).length() <= c.Radius {
			return true
		}
	}
	return false
}

// speed refuses a speed above that of the device or of a zone on the way, and sets the limit for the others.
type speed struct {
	opts *Options
	site site
}

func (speed) Name() string { return "speed" }

func (p speed) Check(s devices.Situation) devices.Verdict {
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
	highest, zone := p.opts.limit(p.site, s.Device.ID, pose.Map, path)
	found := []devices.Figure{{Name: "limit", Value: highest, Unit: "m/s"}}
	if v := s.Move.Speed; v != nil {
		found = append(found, devices.Figure{Name: "speed", Value: *v, Unit: "m/s"})
		if !finite(*v) || *v > highest {
			return refuse(found, "%.2f m/s is above %.2f m/s, the limit of %s", *v, highest, zone)
		}
		highest = *v
	}
	v := allow(found...)
	v.MaxSpeed = highest
	return v
}

// limit returns the highest speed of a device on a way, and what sets it.
func (o *Options) limit(s site, id, m string, path segment) (highest float64, by string) {
	d := o.device(id)
	highest, by = d.MaxSpeed, "the device"
	if f := s[m]; f != nil {
		if v, zone := f.speed(path, d.Radius); v > 0 && v < highest {
			return v, fmt.Sprintf("zone %q", zone)
		}
	}
	return highest, by
}

// mode refuses commands for a device that is not in automatic operation.
type mode struct{}

func (mode) Name() string { return "operating mode" }

func (mode) Check(s devices.Situation) devices.Verdict {
	switch state := s.Device.State; {
	case state == devices.Online, state == devices.Idle, state == devices.Working:
		return allow()
	case state == devices.Error && s.Move == nil && s.Command.Type != devices.PickUp && s.Command.Type != devices.Release:
		return allow() // such as a command that clears the error
	case state == devices.Maintenance && s.Command.Type == devices.ResetEmergencyStop:
		return skip("a reset moves nothing")
	}
	return refuse(nil, "the device is in state %s", s.Device.State)
}

func figures(f ...devices.Figure) []devices.Figure { return f }
