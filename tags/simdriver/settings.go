package simdriver

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// TypeName is the driver type in settings.
const TypeName = "Simulation"

// Type returns the driver type for programs that list what they have.
func Type() driverconfig.Type {
	return driverconfig.Type{Name: TypeName, Title: "Simulation", Description: "Devices that are simulated, with faults if you want.", New: FromSettings,
		Schema: sync.OnceValue(func() json.RawMessage { return driverconfig.Schema(settings{}) }), CanBrowse: true}
}

// settings is the member Settings of a driver of type Simulation.
type settings struct {
	DeviceCount      int           `range:"0..1000000" default:"1" doc:"Simulated devices."`
	TagsPerDevice    int           `range:"0..1000000" default:"10" doc:"Tags of each. There are at most a million tags in all."`
	UpdateIntervalMs int64         `range:"0..31622400000" unit:"milliseconds" default:"1000" doc:"How often values change."`
	Scenario         scenario      `default:"\"Sine\""`
	PeriodMs         int64         `range:"0..31622400000" unit:"milliseconds" doc:"Period of the signals; 0 for that of the scenario."`
	Seed             uint64        `doc:"The same seed produces the same values."`
	Start            startTime     `doc:"When the simulated time is 0; default now."`
	Faults           faultSettings `doc:"Faults of the devices: a cut connection, devices and readings that fail, values that stand still or are Uncertain."`
}

type faultSettings struct {
	Disconnect windowSettings     `doc:"The connection is cut, and connecting fails."`
	Freeze     windowSettings     `doc:"The device takes requests and does not answer."`
	Error      pointFaultSettings `doc:"Reading fails."`
	Stuck      pointFaultSettings `doc:"Values do not change."`
	Uncertain  pointFaultSettings `doc:"Values are Uncertain."`
}

type windowSettings struct {
	EveryMs int64 `range:"0..31622400000" unit:"milliseconds" doc:"How often the fault comes."`
	ForMs   int64 `range:"0..31622400000" unit:"milliseconds" doc:"How long it lasts, less than EveryMs."`
}

type pointFaultSettings struct {
	Share   float64 `range:"0..1" doc:"Share of the points that are affected."`
	EveryMs int64   `range:"0..31622400000" unit:"milliseconds" doc:"How often the fault comes; 0 for always."`
	ForMs   int64   `range:"0..31622400000" unit:"milliseconds" doc:"How long it lasts, less than EveryMs."`
}

// scenario is a word that ParseScenario reads.
type scenario string

// JSONSchema implements driverconfig.SchemaProvider.
func (scenario) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "description": "Shape of the signals.", "enum": Scenarios()}
}

// startTime is a time in the years that the simulation has.
type startTime struct{ time.Time }

// JSONSchema implements driverconfig.SchemaProvider.
func (startTime) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "format": "date-time", "pattern": "^(19[7-9][0-9]|20[0-9][0-9]|21[0-9][0-9]|2200)-"}
}

// FromSettings is the driverconfig.Factory of the type Simulation. Its settings are DeviceCount,
// TagsPerDevice, UpdateIntervalMs, Scenario, PeriodMs, Seed, Start (RFC 3339) and Faults, which mean
// what they do in Options; a fault is an object of EveryMs, ForMs and, where points are concerned,
// Share. The address and the port of a simulation have no meaning.
func FromSettings(s driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
	var in settings
	if err := driverconfig.Decode(s.Settings, &in, "Settings"); err != nil {
		return nil, nil, err
	}
	d, err := New(in.options())
	if err != nil {
		return nil, nil, inSettings(err)
	}
	list, err := d.Browse(context.Background())
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		list[i].Driver, list[i].Name = s.ID, s.TagName(list[i].Name)
	}
	return d, list, nil
}

func (in settings) options() Options {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	pointFault := func(f pointFaultSettings) PointFault {
		return PointFault{Share: f.Share, Window: Window{Every: ms(f.EveryMs), For: ms(f.ForMs)}}
	}
	window := func(w windowSettings) Window { return Window{Every: ms(w.EveryMs), For: ms(w.ForMs)} }
	return Options{
		DeviceCount:    in.DeviceCount,
		TagsPerDevice:  in.TagsPerDevice,
		UpdateInterval: ms(in.UpdateIntervalMs),
		Scenario:       Shape(in.Scenario),
		Period:         ms(in.PeriodMs),
		Seed:           in.Seed,
		Start:          in.Start.Time,
		Faults: Faults{
			Disconnect: window(in.Faults.Disconnect),
			Freeze:     window(in.Faults.Freeze),
			Error:      pointFault(in.Faults.Error),
			Stuck:      pointFault(in.Faults.Stuck),
			Uncertain:  pointFault(in.Faults.Uncertain),
		},
	}
}

// inSettings sets the place in the file of an error's fields.
func inSettings(err error) error {
	e, ok := fault.From(err)
	if !ok {
		return err
	}
	fields := make([]fault.Field, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = fault.Field{Field: "Settings." + f.Field, Message: f.Message}
	}
	return driverconfig.ErrInvalid.Invalid(fields...)
}
