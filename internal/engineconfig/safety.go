package engineconfig

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/simexec"
	"github.com/otkit/otkit/internal/settings"
)

// DeviceSafety is what the safety policies judge commands by.
type DeviceSafety struct {
	ZonesFile  string         `key:"zonesFile" doc:"GeoJSON file with zones, in metres, that is read at the start; a relative path is from the working directory. Without a zone of kind allowed on its map a device is refused every movement."`
	Zones      []DeviceZone   `key:"zones" doc:"Zones beside those of the file, a list."`
	MaxAge     time.Duration  `key:"maxAge" default:"5s" rule:">0" doc:"How old the last report of a device may be for a command that is judged by it."`
	Separation float64        `key:"separation" default:"0.5" rule:">0" doc:"How far devices must stay apart, beyond their radii, in metres."`
	Battery    float64        `key:"battery" default:"20" rule:">0..100" doc:"Charge in percent that must remain after a command, the way to a charger excepted."`
	Device     DeviceFigures  `key:"device"`
	Devices    []DeviceWithID `key:"devices" doc:"Devices with figures of their own, a list."`
	Chargers   []Charger      `key:"chargers" doc:"Places where devices charge, a list."`
}

// DeviceZone is a zone of a map.
type DeviceZone struct {
	Name     string    `key:"name" rule:"required" unique:"true" doc:"Name of the zone, for reasons."`
	Map      string    `key:"map" doc:"Map on which it is, as devices report it."`
	Kind     string    `key:"kind" rule:"allowed|keepOut|speed" doc:"allowed: devices may be in it; keepOut: none may touch it; speed: it limits the speed only."`
	MaxSpeed float64   `key:"maxSpeed" rule:"0.." doc:"Highest speed in it in metres a second; 0 for no limit."`
	Points   []float64 `key:"points" rule:"-1000000..1000000" doc:"Corners as x,y,x,y,... in metres: two are opposite ones of a rectangle, more are a polygon."`
}

// DeviceFigures hold for devices without figures of their own.
type DeviceFigures struct {
	Radius   float64 `key:"radius" default:"0.5" rule:">0" doc:"Radius of a circle around a device and its loads in metres, of devices that are not in the list."`
	MaxSpeed float64 `key:"maxSpeed" default:"1" rule:">0" doc:"Their highest speed in metres a second."`
	PerMetre float64 `key:"perMetre" default:"0.02" rule:">0" doc:"Charge that they need, in percent a metre."`
	Mains    bool    `key:"mains" default:"false" doc:"They have no battery."`
}

// DeviceWithID has figures of its own. Zero selects the figure for all devices.
type DeviceWithID struct {
	ID       string  `key:"id" rule:"required" unique:"true" doc:"Id of the device."`
	Radius   float64 `key:"radius" rule:"0.." doc:"Radius of a circle around it and its loads in metres; 0 for that of devices.safety.device."`
	MaxSpeed float64 `key:"maxSpeed" rule:"0.." doc:"Its highest speed in metres a second; 0 for that of devices.safety.device."`
	PerMetre float64 `key:"perMetre" rule:"0.." doc:"Charge that it needs, in percent a metre; 0 for that of devices.safety.device."`
	Mains    bool    `key:"mains" default:"false" doc:"It has no battery."`
}

// Charger is a place where devices charge.
type Charger struct {
	Name   string  `key:"name" rule:"required" unique:"true" doc:"Name of the charger, for reasons."`
	Map    string  `key:"map" doc:"Map on which it is."`
	X      float64 `key:"x" rule:"-1000000..1000000" doc:"Its place in metres."`
	Y      float64 `key:"y" rule:"-1000000..1000000" doc:"Its place in metres."`
	Radius float64 `key:"radius" default:"0.5" rule:">0" doc:"How far from it the target of a way to it may be, in metres."`
}

// Validate implements settings.Validator.
func (z DeviceZone) Validate(p *settings.Problems) {
	if p.Has("points") {
		return
	}
	p.Must(len(z.Points) >= 4 && len(z.Points)%2 == 0, "points", "must have two numbers for each of two or more corners")
	p.Must(z.Kind != string(safety.Speed) || z.MaxSpeed > 0, "maxSpeed", "must be above 0 in a zone of kind speed")
}

// zone returns the zone of the policies.
func (z DeviceZone) zone() safety.Zone {
	ring := make([][2]float64, 0, len(z.Points)/2)
	for i := 0; i+1 < len(z.Points); i += 2 {
		ring = append(ring, [2]float64{z.Points[i], z.Points[i+1]})
	}
	if len(ring) == 2 {
		a, b := ring[0], ring[1]
		ring = [][2]float64{a, {b[0], a[1]}, b, {a[0], b[1]}}
	}
	return safety.Zone{Name: z.Name, Map: z.Map, Kind: safety.Kind(z.Kind), MaxSpeed: z.MaxSpeed, Rings: [][][2]float64{ring}}
}

// policies returns the safety policies, nil when their settings are not valid.
func (d Devices) policies(p *settings.Problems) devices.Safety {
	if p.Has("devices.safety") || p.Has("devices.simulated.robots") {
		return nil
	}
	s := d.Safety
	o := safety.Options{Zones: s.zones(p), MaxAge: s.MaxAge, Separation: s.Separation, Battery: s.Battery,
		Device: safety.Device(s.Device), Devices: d.figures()}
	for _, c := range s.Chargers {
		o.Chargers = append(o.Chargers, safety.Charger{Name: c.Name, Map: c.Map, X: c.X, Y: c.Y, Radius: c.Radius})
	}
	if p.Has("devices.safety") {
		return nil
	}
	policies, err := safety.New(o)
	if err != nil {
		p.Take(err, "devices.safety", nil)
		return nil
	}
	d.checkPlaces(p, o.Zones, policies)
	return policies
}

// zones returns the zones of the list and those of the file.
func (s DeviceSafety) zones(p *settings.Problems) (list []safety.Zone) {
	for i, z := range s.Zones {
		zone := z.zone()
		if err := zone.Validate(); err != nil {
			p.Add(fmt.Sprintf("devices.safety.zones[%d]", i), fmt.Sprintf("(%s) is not usable: %v", z.Name, err))
		}
		list = append(list, zone)
	}
	if s.ZonesFile == "" {
		return list
	}
	const path = "devices.safety.zonesFile"
	file, err := os.Open(s.ZonesFile)
	if err != nil {
		p.Add(path, "is not usable: "+err.Error())
		return list
	}
	defer func() { _ = file.Close() }()
	found, err := safety.ReadGeoJSON(file)
	switch {
	case err != nil:
		p.Add(path, fmt.Sprintf("is not usable: %s: %s", s.ZonesFile, strings.TrimPrefix(err.Error(), "zones: ")))
	case len(found) == 0:
		p.Add(path, "is not usable: "+s.ZonesFile+": has no features")
	}
	return append(list, found...)
}

// figures returns the figures of devices by id. What the settings of a simulated robot say about it is known to the policies.
func (d Devices) figures() map[string]safety.Device {
	all := make(map[string]safety.Device, len(d.Safety.Devices))
	for _, f := range d.Safety.Devices {
		all[f.ID] = safety.Device{Radius: f.Radius, MaxSpeed: f.MaxSpeed, PerMetre: f.PerMetre, Mains: f.Mains}
	}
	for _, r := range d.Simulated.Robots {
		f := all[r.ID]
		f.MaxSpeed = min(cmp.Or(f.MaxSpeed, d.Safety.Device.MaxSpeed), r.Speed)
		f.PerMetre = cmp.Or(f.PerMetre, d.Safety.Device.PerMetre)
		f.Mains = f.Mains || r.Kind == string(simexec.Arm)
		all[r.ID] = f
	}
	return all
}
