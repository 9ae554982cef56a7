package safety

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
)

// margin is how much farther than touching a device stays away from a line, in metres. It covers the rounding of coordinates.
const margin = 1e-6

// Options are the options of [New]. The zero value refuses every movement, because it has no zones.
type Options struct {
	Zones []Zone
	// MaxAge is how old the last report of a device may be. Default 5 s.
	MaxAge time.Duration
	// Device is what holds for devices that Devices does not name.
	Device Device
	// Devices are by device id. A member that is 0 is that of Device.
	Devices map[string]Device
	// Separation is how far two devices must stay apart, in metres. Default 0.5.
	Separation float64
	// Chargers are where devices charge. A device may go to one although its battery is low.
	Chargers []Charger
	// Battery is the charge in percent below which no other command is allowed. Default 20.
	Battery float64
}

// Device is what the policies need to know of a device.
type Device struct {
	// Radius is that of a circle around everything that belongs to the device and its loads, in metres. Default 0.5.
	Radius float64
	// MaxSpeed is its highest speed, in metres a second. Default 1.
	MaxSpeed float64
	// PerMetre is the charge that it needs, in percent a metre. Default 0.02.
	PerMetre float64
	// Mains is for a device without a battery.
	Mains bool
}

// Charger is a place where devices charge.
type Charger struct {
	Name   string
	Map    string
	X, Y   float64 // metres
	Radius float64 // how far from it a target may be, in metres; default 0.5
}

func (o Options) withDefaults() (Options, error) {
	o.MaxAge = cmp.Or(o.MaxAge, 5*time.Second)
	o.Separation = cmp.Or(o.Separation, 0.5)
	o.Battery = cmp.Or(o.Battery, 20)
	o.Device = o.Device.or(Device{Radius: 0.5, MaxSpeed: 1, PerMetre: 0.02})
	o.Zones, o.Devices = slices.Clone(o.Zones), maps.Clone(o.Devices)
	for id, d := range o.Devices {
		o.Devices[id] = d.or(o.Device)
		if err := o.Devices[id].check(fmt.Sprintf("Options.Devices[%s]", id)); err != nil {
			return o, err
		}
	}
	chargers := append([]Charger(nil), o.Chargers...)
	for i, c := range chargers {
		chargers[i].Radius = cmp.Or(c.Radius, 0.5)
		if !finite(c.X, c.Y, c.Radius) || c.Radius < 0 {
			return o, fault.Option("safety", fmt.Sprintf("Options.Chargers[%d]", i), "must have finite coordinates and a Radius above 0")
		}
	}
	o.Chargers = chargers
	switch {
	case o.MaxAge < 0:
		return o, fault.Option("safety", "Options.MaxAge", "must be above 0, not %s", o.MaxAge)
	case !finite(o.Separation) || o.Separation < 0:
		return o, fault.Option("safety", "Options.Separation", "must be above 0, not %g", o.Separation)
	case !finite(o.Battery) || o.Battery < 0 || o.Battery > 100:
		return o, fault.Option("safety", "Options.Battery", "must be 0 to 100, not %g", o.Battery)
	}
	return o, o.Device.check("Options.Device")
}

func (d Device) or(other Device) Device {
	return Device{cmp.Or(d.Radius, other.Radius), cmp.Or(d.MaxSpeed, other.MaxSpeed), cmp.Or(d.PerMetre, other.PerMetre), d.Mains || other.Mains}
}

func (d Device) check(path string) error {
	if !finite(d.Radius, d.MaxSpeed, d.PerMetre) || d.Radius < 0 || d.MaxSpeed < 0 || d.PerMetre < 0 {
		return fault.Option("safety", path, "must have finite members above 0")
	}
	return nil
}

func (o *Options) device(id string) Device {
	if d, ok := o.Devices[id]; ok {
		return d
	}
	return o.Device
}
