package engineconfig

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/simexec"
	"github.com/otkit/otkit/devices/vda5050"
	"github.com/otkit/otkit/internal/serverconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
)

// SimulatedDevices are robots for demonstrations and tests.
type SimulatedDevices struct {
	Robots     []SimulatedRobot `key:"robots" doc:"Simulated robots, a list."`
	Step       time.Duration    `key:"step" default:"200ms" rule:"10ms..10s" doc:"How often simulated robots move and report."`
	FaultEvery time.Duration    `key:"faultEvery" default:"0s" rule:"0.." doc:"Mean time between the faults of a simulated robot; 0s for none. A fault lasts until the command ClearError."`
	Seed       uint64           `key:"seed" default:"1" doc:"Seed of the faults; the same one gives the same faults."`
}

// SimulatedRobot is a simulated device.
type SimulatedRobot struct {
	ID      string  `key:"id" rule:"required" unique:"true" doc:"Id of the device."`
	Name    string  `key:"name" doc:"Its name; empty for the id."`
	Kind    string  `key:"kind" default:"mobile" rule:"mobile|arm" doc:"mobile drives and has a battery; arm stands where it is and has none."`
	Map     string  `key:"map" doc:"Map on which it is."`
	X       float64 `key:"x" rule:"-1000000..1000000" doc:"Where it begins, in metres."`
	Y       float64 `key:"y" rule:"-1000000..1000000" doc:"Where it begins, in metres."`
	Speed   float64 `key:"speed" default:"1" rule:">0" doc:"Its highest speed in metres a second."`
	Battery float64 `key:"battery" default:"80" rule:">0..100" doc:"Its charge at the beginning in percent."`
}

// VDA5050 connects vehicles over an MQTT broker.
type VDA5050 struct {
	URL           string           `key:"url" doc:"MQTT broker of vehicles that speak VDA 5050, mqtt://host:1883 or mqtts://host:8883; empty for none."`
	Username      string           `key:"username" doc:"Account at the broker; empty for none."`
	Password      string           `key:"password" secret:"true" doc:"Its password."`
	ClientID      string           `key:"clientId" doc:"Client id at the broker, the same for the engines of a plant: the one that takes over ends the connection of the one before. Empty for one that is made of the vehicles, or random where an engine is alone."`
	Interface     string           `key:"interface" default:"uagv" rule:"required" doc:"First level of the topics."`
	CAFile        string           `key:"caFile" doc:"PEM file with the authorities of the broker's certificate; empty for those of the system."`
	Vehicles      []VDA5050Vehicle `key:"vehicles" doc:"Vehicles of the broker, a list."`
	Deviation     float64          `key:"deviation" default:"0.2" rule:">0" doc:"How far from its target a vehicle may stop, in metres."`
	AcceptTimeout time.Duration    `key:"acceptTimeout" default:"5s" rule:">0" doc:"Longest time until a vehicle reports that it has an order."`
	CancelTimeout time.Duration    `key:"cancelTimeout" default:"4s" rule:">0" doc:"Longest time that a vehicle may take to cancel an order."`
}

// VDA5050Vehicle is a vehicle of the broker.
type VDA5050Vehicle struct {
	DeviceID     string `key:"deviceId" rule:"required" unique:"true" doc:"Id of the device."`
	Name         string `key:"name" doc:"Its name; empty for the id."`
	Manufacturer string `key:"manufacturer" rule:"required" doc:"Its manufacturer, as in its topics."`
	SerialNumber string `key:"serialNumber" rule:"required" doc:"Its serial number, as in its topics."`
}

// Validate implements settings.Validator.
func (v VDA5050) Validate(p *settings.Problems) {
	serverconfig.Together(p, "url", v.URL != "", "vehicles", len(v.Vehicles) > 0)
	serverconfig.Together(p, "vehicles", len(v.Vehicles) > 0, "url", v.URL != "")
	if v.URL != "" {
		u, err := url.Parse(v.URL)
		p.Must(err == nil && (u.Scheme == "mqtt" || u.Scheme == "mqtts") && u.Host != "" && u.User == nil,
			"url", "must be mqtt://host:port or mqtts://host:port, without a user")
		if v.CAFile != "" && (err != nil || u.Scheme != "mqtts") {
			p.Add("caFile", "is for an mqtts URL")
		}
	}
}

// simulatedFleet returns the simulated robots, nil for none.
func (d Devices) simulatedFleet(p *settings.Problems) *devicespart.Fleet {
	s := d.Simulated
	if len(s.Robots) == 0 || p.Has("devices.simulated") {
		return nil
	}
	o := simexec.Options{Step: s.Step, FaultEvery: s.FaultEvery, Seed: s.Seed}
	fleet := &devicespart.Fleet{Name: "simulated"}
	figures := d.figures()
	for _, r := range s.Robots {
		robot := simexec.Robot{ID: r.ID, Kind: simexec.Kind(r.Kind), Map: r.Map, X: r.X, Y: r.Y, Speed: r.Speed, Battery: r.Battery, PerMetre: figures[r.ID].PerMetre}
		for _, c := range d.Safety.Chargers {
			if c.Map == r.Map {
				robot.Chargers = append(robot.Chargers, simexec.Point{X: c.X, Y: c.Y})
			}
		}
		o.Robots = append(o.Robots, robot)
		fleet.Devices = append(fleet.Devices, newDevice(r.ID, r.Name))
	}
	if _, err := simexec.New(o); err != nil {
		p.Take(err, "devices.simulated", nil)
		return nil
	}
	fleet.Open = func(_ context.Context, s *devices.Service) (devicespart.Connection, error) {
		robots, err := simexec.New(o)
		if err != nil {
			return devicespart.Connection{}, err
		}
		return devicespart.Connection{Executor: robots, Run: func(ctx context.Context) error { return robots.Run(ctx, s.Report) }}, nil
	}
	return fleet
}

// fleet returns the vehicles, nil for none.
func (v VDA5050) fleet(log *slog.Logger, p *settings.Problems) *devicespart.Fleet {
	if v.URL == "" || p.Has("devices.vda5050") {
		return nil
	}
	o := vda5050.Options{URL: v.URL, Username: v.Username, Password: v.Password, ClientID: v.ClientID, Interface: v.Interface,
		TLS: trust(p, "devices.vda5050.caFile", v.CAFile), Deviation: v.Deviation, AcceptTimeout: v.AcceptTimeout, CancelTimeout: v.CancelTimeout, Logger: log}
	fleet := &devicespart.Fleet{Name: "vda5050"}
	for _, one := range v.Vehicles {
		o.Vehicles = append(o.Vehicles, vda5050.Vehicle{DeviceID: one.DeviceID, Manufacturer: one.Manufacturer, SerialNumber: one.SerialNumber})
		fleet.Devices = append(fleet.Devices, newDevice(one.DeviceID, one.Name))
	}
	if err := o.Validate(); err != nil {
		p.Take(err, "devices.vda5050", nil)
		return nil
	}
	fleet.Open = func(ctx context.Context, s *devices.Service) (devicespart.Connection, error) {
		o := o
		o.Reports, o.Valid = s, s.Owns
		if o.ClientID == "" && s.Shared() {
			o.ClientID = o.SharedClientID()
		}
		vehicles, err := vda5050.Connect(ctx, o)
		if err != nil {
			return devicespart.Connection{}, err
		}
		return devicespart.Connection{Executor: vehicles, Err: vehicles.Err, Close: vehicles.Close}, nil
	}
	fleet.Stop = func(ctx context.Context, deviceID string) error { return vda5050.Stop(ctx, o, deviceID) }
	return fleet
}
