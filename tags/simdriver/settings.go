package simdriver

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// TypeName is the driver type in settings.
const TypeName = "Simulation"

// settings is the member Settings of a driver of type Simulation. Times in milliseconds.
type settings struct {
	DeviceCount      int
	TagsPerDevice    int
	UpdateIntervalMs int64
	Scenario         string
	PeriodMs         int64
	Seed             uint64
	Start            time.Time
	Faults           struct {
		Disconnect, Freeze      windowSettings
		Error, Stuck, Uncertain pointFaultSettings
	}
}

type windowSettings struct{ EveryMs, ForMs int64 }

type pointFaultSettings struct {
	Share          float64
	EveryMs, ForMs int64
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
	opts, err := in.options()
	if err != nil {
		return nil, nil, inSettings(err)
	}
	d, err := New(opts)
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

func (in settings) options() (Options, error) {
	var c checker
	ms := func(field string, n int64) time.Duration {
		const most = 366 * 24 * time.Hour
		c.want(n >= 0 && n <= most.Milliseconds(), field, "must be 0..%d", most.Milliseconds())
		return time.Duration(n) * time.Millisecond
	}
	window := func(field string, every, open int64) Window {
		return Window{Every: ms(field+".EveryMs", every), For: ms(field+".ForMs", open)}
	}
	pointFault := func(field string, f pointFaultSettings) PointFault {
		return PointFault{Share: f.Share, Window: window(field, f.EveryMs, f.ForMs)}
	}
	opts := Options{
		DeviceCount:    in.DeviceCount,
		TagsPerDevice:  in.TagsPerDevice,
		UpdateInterval: ms("UpdateIntervalMs", in.UpdateIntervalMs),
		Scenario:       Shape(in.Scenario),
		Period:         ms("PeriodMs", in.PeriodMs),
		Seed:           in.Seed,
		Start:          in.Start,
		Faults: Faults{
			Disconnect: window("Faults.Disconnect", in.Faults.Disconnect.EveryMs, in.Faults.Disconnect.ForMs),
			Freeze:     window("Faults.Freeze", in.Faults.Freeze.EveryMs, in.Faults.Freeze.ForMs),
			Error:      pointFault("Faults.Error", in.Faults.Error),
			Stuck:      pointFault("Faults.Stuck", in.Faults.Stuck),
			Uncertain:  pointFault("Faults.Uncertain", in.Faults.Uncertain),
		},
	}
	return opts, c.err()
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
