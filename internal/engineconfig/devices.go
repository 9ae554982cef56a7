package engineconfig

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/devicesapi"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
)

// Devices is about robots and automation devices.
type Devices struct {
	CommandWait  time.Duration    `key:"commandWait" default:"10s" rule:">0..50s" doc:"Longest time that the answer to a command waits for its end. After that it reports that the command runs; the journal has the end."`
	Timeout      time.Duration    `key:"timeout" default:"10m" rule:">0" doc:"Longest time that a device may take for a command."`
	QueueLimit   int              `key:"queueLimit" default:"32" rule:"1..10000" doc:"Commands that may wait for one device; further ones are answered 429."`
	MaxDevices   int              `key:"maxDevices" default:"10000" rule:"1..100000" doc:"Largest number of devices."`
	OfflineAfter time.Duration    `key:"offlineAfter" default:"45s" rule:"1s.." doc:"How long a device may be silent before it is Offline."`
	Retention    time.Duration    `key:"retention" default:"9600h" rule:"24h.." doc:"Retention of commands that have ended, with the decisions of the policies. A commandId is recognized as long."`
	Tags         bool             `key:"tags" default:"true" doc:"Show what devices report as tags of the driver devices."`
	Shells       bool             `key:"shells" default:"true" doc:"Make an asset administration shell for each device."`
	Alarms       DeviceAlarms     `key:"alarms"`
	Safety       DeviceSafety     `key:"safety"`
	Simulated    SimulatedDevices `key:"simulated"`
	VDA5050      VDA5050          `key:"vda5050"`
}

// DeviceAlarms configures the alarms about devices.
type DeviceAlarms struct {
	Enabled bool          `key:"enabled" default:"true" doc:"Raise alarms for faults and emergency stops of devices, and for devices that are Offline."`
	Delay   time.Duration `key:"delay" default:"30s" rule:"1s.." doc:"How long a device must be Offline before the alarm."`
}

// Validate implements settings.Validator.
func (d Devices) Validate(p *settings.Problems) {
	list := d.named()
	first := make(map[string]string, len(list))
	for _, n := range list {
		if n.id == "" || p.Has(n.path) {
			continue // it was said
		}
		names := map[string]string{"deviceId": n.key, "name": "name"}
		p.Take(devices.Validate(n.id, cmp.Or(n.name, n.id), ""), n.path, names)
		p.Must(n.id != devicesapi.ReservedID, n.path+"."+n.key, fmt.Sprintf("must not be %q, which is reserved", n.id))
		if other, twice := first[n.id]; twice {
			p.Add(n.path+"."+n.key, fmt.Sprintf("is that of devices.%s as well: a device belongs to one fleet", other))
			continue
		}
		first[n.id] = n.path
	}
	p.Must(len(list) <= d.MaxDevices, "maxDevices", fmt.Sprintf("must be at least %d, as many as the settings name", len(list)))
	if len(d.Simulated.Robots) > 0 {
		p.Must(d.Simulated.Step < d.Safety.MaxAge, "simulated.step", "must be below devices.safety.maxAge, or every movement is refused")
		p.Must(d.Simulated.Step < d.OfflineAfter, "simulated.step", "must be below devices.offlineAfter")
	}
}

// namedDevice is a device that the settings name.
type namedDevice struct {
	path     string // below devices, such as simulated.robots[0]
	key      string // of its id
	id, name string
}

func (d Devices) named() (list []namedDevice) {
	for i, r := range d.Simulated.Robots {
		list = append(list, namedDevice{fmt.Sprintf("simulated.robots[%d]", i), "id", r.ID, r.Name})
	}
	for i, v := range d.VDA5050.Vehicles {
		list = append(list, namedDevice{fmt.Sprintf("vda5050.vehicles[%d]", i), "deviceId", v.DeviceID, v.Name})
	}
	return list
}

// options makes the policies and the fleets. It reads the file of the zones and needs no network.
func (d Devices) options(log *slog.Logger, p *settings.Problems) devicespart.Options {
	o := devicespart.Options{CommandWait: d.CommandWait, Timeout: d.Timeout, QueueLimit: d.QueueLimit, MaxDevices: d.MaxDevices,
		OfflineAfter: d.OfflineAfter, Retention: d.Retention, Safety: d.policies(p),
		Alarms:      devicealarms.Options{Disabled: !d.Alarms.Enabled, Delay: d.Alarms.Delay},
		WithoutTags: !d.Tags, WithoutShells: !d.Shells}
	for _, fleet := range []*devicespart.Fleet{d.simulatedFleet(p), d.VDA5050.fleet(log, p)} {
		if fleet != nil {
			o.Fleets = append(o.Fleets, *fleet)
		}
	}
	return o
}

// newDevice returns a device of a fleet. Without a name it is called as its id.
func newDevice(id, name string) devicespart.NewDevice {
	return devicespart.NewDevice{ID: id, Name: cmp.Or(name, id)}
}
