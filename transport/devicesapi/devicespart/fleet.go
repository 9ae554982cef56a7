package devicespart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/devicesapi"
)

// Fleet is a group of devices that one executor commands: simulated ones, or the vehicles of a broker.
type Fleet struct {
	Name    string      // for errors and health; unique
	Devices []NewDevice // registered by New if they are missing; each belongs to one fleet
	// Open is called once by New, after the service is made, which the fleet reports to. With Options.Cluster it is called whenever this
	// engine is to carry out the commands of devices, and nothing may be sent to them while the service does not own them.
	Open func(ctx context.Context, s *devices.Service) (Connection, error)
	// Stop tells a device of the fleet to stop, over a connection of its own, while another engine has the devices and does not answer. It may
	// be nil.
	Stop func(ctx context.Context, deviceID string) error
}

// NewDevice is a device that a fleet brings.
type NewDevice struct{ ID, Name, Description string }

// Connection is an open fleet.
type Connection struct {
	// Executor is that of the fleet's devices; required. What these do is reported to the service by the fleet: reports of them over
	// REST are refused, because a wrong place leads other devices into them.
	Executor devices.Executor
	// Run runs from the start of the server until the service has ended; its error is logged. It may be nil.
	Run func(context.Context) error
	// Err returns why the devices cannot be reached now, such as a broker that is away. It must not block and may be nil.
	Err func() error
	// Close is called when the service and Run have ended. It may be nil.
	Close func(context.Context) error
}

// checkFleets returns an error for a fleet that cannot be opened.
func checkFleets(list []Fleet) error {
	names, owners := map[string]bool{}, map[string]string{}
	for i, f := range list {
		option := func(name, format string, args ...any) error {
			return fault.Option("devices", fmt.Sprintf("Options.Fleets[%d].%s", i, name), format, args...)
		}
		switch {
		case f.Name == "":
			return option("Name", "is required")
		case names[f.Name]:
			return option("Name", "%q is used twice", f.Name)
		case f.Open == nil:
			return option("Open", "is required")
		}
		names[f.Name] = true
		for _, d := range f.Devices {
			if owner, taken := owners[d.ID]; taken {
				return option("Devices", "device %q belongs to fleet %q", d.ID, owner)
			}
			if d.ID == devicesapi.ReservedID {
				return option("Devices", "%q is reserved", d.ID)
			}
			owners[d.ID] = f.Name
		}
	}
	return nil
}

func fleetError(f Fleet, err error) error { return fmt.Errorf("devices: fleet %s: %w", f.Name, err) }

// fleets are the open ones.
type fleets struct {
	ids map[string]bool // of the devices of all fleets, also of those that are not open

	mu        sync.Mutex
	opened    []openFleet
	executors map[string]devices.Executor // by device
	stop      context.CancelFunc          // nil until they run
	running   sync.WaitGroup
}

type openFleet struct {
	Connection
	name string
}

func idsOf(list []Fleet) map[string]bool {
	ids := map[string]bool{}
	for _, f := range list {
		for _, d := range f.Devices {
			ids[d.ID] = true
		}
	}
	return ids
}

// open opens a fleet.
func (l *fleets) open(ctx context.Context, f Fleet, s *devices.Service) error {
	c, err := f.Open(ctx, s)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened = append(l.opened, openFleet{c, f.Name})
	if c.Executor == nil {
		return errors.New("the connection has no Executor")
	}
	if l.executors == nil {
		l.executors = map[string]devices.Executor{}
	}
	for _, d := range f.Devices {
		l.executors[d.ID] = c.Executor
	}
	return nil
}

// executor returns the executor of a device, nil for none.
func (l *fleets) executor(deviceID string) devices.Executor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.executors[deviceID]
}

var errConnected = fault.New(fault.Conflict, "DEVICE_CONNECTED", "the device reports through its fleet")

// mayReport returns nil for a device of no fleet.
func (l *fleets) mayReport(deviceID string) error {
	if l.ids[deviceID] {
		return errConnected.On("deviceId", deviceID)
	}
	return nil
}

// away returns why fleets cannot be reached, by name.
func (l *fleets) away() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	away := map[string]string{}
	for _, f := range l.opened {
		if f.Err == nil {
			continue
		}
		if err := f.Err(); err != nil {
			away[f.name] = err.Error()
		}
	}
	return away
}

// run runs the fleets until close.
func (l *fleets) run(log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	for _, f := range l.opened {
		if f.Run == nil {
			continue
		}
		l.running.Go(func() {
			if err := f.Run(ctx); err != nil && ctx.Err() == nil {
				log.Error("fleet ended; its devices are not commanded any more", "fleet", f.name, "error", err)
			}
		})
	}
}

// close ends what runs and closes the connections.
func (l *fleets) close(ctx context.Context) error {
	l.mu.Lock()
	open, stop := l.opened, l.stop
	l.opened, l.stop, l.executors = nil, nil, nil
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	var errs []error
	select {
	case <-ended:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("a fleet does not end: %w", context.Cause(ctx)))
	}
	for _, f := range open {
		if f.Close != nil {
			errs = append(errs, f.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

var errNoDirectStop = errors.New("its fleet has no way to do that")

// stopDirectly tells a device to stop that another engine has.
func (d *Devices) stopDirectly(ctx context.Context, deviceID string) error {
	for _, f := range d.opts.Fleets {
		if f.Stop != nil && slices.ContainsFunc(f.Devices, func(n NewDevice) bool { return n.ID == deviceID }) {
			return f.Stop(ctx, deviceID)
		}
	}
	return errNoDirectStop
}
