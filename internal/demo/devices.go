package demo

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/server"
)

const (
	// faultEvery is the mean time between the faults of a device.
	faultEvery = time.Hour
	// commandAge is how long the commands of the dispatcher are kept: there are some ten thousand a day.
	commandAge = 24 * time.Hour
)

// fleet is the demo's devices with what commands them.
type fleet struct {
	log     *slog.Logger
	opened  chan struct{} // closed by the first open
	once    sync.Once
	service *devices.Service // from then on
}

// installDevices adds the demo's devices, their hall and the dispatcher, unless the settings have devices of the same ids.
func installDevices(o *engine.Options) error {
	for _, f := range o.Devices.Fleets {
		for _, d := range f.Devices {
			if d.ID == RobotID || d.ID == ArmID {
				o.Server.Logger.Warn("demo devices omitted: the settings have a device of the same id", "device", d.ID)
				return nil
			}
		}
	}
	policies, err := newPolicies()
	if err != nil {
		return err
	}
	o.Devices.Safety = ownPolicies{policies, o.Devices.Safety}
	if o.Devices.Retention <= 0 || o.Devices.Retention > commandAge {
		o.Devices.Retention = commandAge
	}
	f := &fleet{log: o.Server.Logger, opened: make(chan struct{})}
	o.Devices.Fleets = append(o.Devices.Fleets, devicespart.Fleet{Name: "demo", Open: f.open, Devices: []devicespart.NewDevice{
		{ID: RobotID, Name: "Pallet robot", Description: "Simulated mobile robot of the demo"},
		{ID: ArmID, Name: "Handling arm", Description: "Simulated robot arm of the demo"},
	}})
	// A job ends before the devices do, so that no command of the dispatcher delays the stop of the server.
	o.Parts = append(o.Parts, server.Part{Name: "demo", Jobs: []func(context.Context){f.dispatch}})
	return nil
}

func (f *fleet) open(_ context.Context, s *devices.Service) (devicespart.Connection, error) {
	sim, err := newSimulator(faultEvery)
	if err != nil {
		return devicespart.Connection{}, err
	}
	f.once.Do(func() { f.service = s; close(f.opened) })
	return devicespart.Connection{Executor: sim, Run: func(ctx context.Context) error { return sim.Run(ctx, s.Report) }}, nil
}

// dispatch commands the devices until ctx ends.
func (f *fleet) dispatch(ctx context.Context) {
	select {
	case <-f.opened:
	case <-ctx.Done():
		return
	}
	var wg sync.WaitGroup
	for _, d := range newDispatchers(f.service, f.log) {
		wg.Go(func() { d.run(ctx) })
	}
	wg.Wait()
}
