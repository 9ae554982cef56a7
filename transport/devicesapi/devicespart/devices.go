package devicespart

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/devicesapi"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Options configure the devices of a server. The zero value works; its policies refuse every movement.
type Options struct {
	Store devices.Store // default: in memory
	// Safety judges commands. Default: that of safety.Options{}, which refuses every movement. Zones of one that is a safety.Zoned,
	// such as a safety.Chain, can be read.
	Safety devices.Safety
	Fleets []Fleet
	// CommandWait is how long a call waits for the end of a command, at most devicesapi.MaxWait. Default 10 s.
	CommandWait time.Duration

	// See devices.Options.
	Timeout, OfflineAfter, Retention time.Duration
	QueueLimit, MaxDevices           int

	// Cluster joins engines that have the same devices in the same Store, which must be a devices.SharedStore: one of them carries out commands. All of
	// them need the same Safety and Fleets. Default, and without a Store: the devices are this engine's own.
	Cluster *clusterpart.Cluster

	// Alarms are the options of the alarms about devices. Now and Logger default to those below.
	Alarms        devicealarms.Options
	WithoutTags   bool // show no device as tags
	WithoutShells bool // make no shells of devices

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	if o.CommandWait < 0 || o.CommandWait > devicesapi.MaxWait {
		return o, fault.Option("devices", "Options.CommandWait", "must be 0 to %s, not %s", devicesapi.MaxWait, o.CommandWait)
	}
	if o.Store == nil {
		o.Store, o.Cluster = devices.NewMemory(), nil
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Safety == nil {
		policies, err := safety.New(safety.Options{})
		if err != nil {
			return o, err
		}
		o.Safety = policies
	}
	return o, checkFleets(o.Fleets)
}

// Devices is the part. Make it with New.
type Devices struct {
	opts    Options
	service *devices.Service
	meters  *meters
	fleets  fleets
	known   *fleetSizes // with a Cluster
	api     *devicesapi.API
	jobs    []func(context.Context)
}

// New opens the devices of a server and their fleets. The tags, alarms and shells may be nil.
func New(ctx context.Context, t *tagspart.Tags, a *alarmspart.Alarms, s *aaspart.AAS, o Options) (*Devices, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Devices{opts: o, meters: newMeters()}
	d.fleets.ids = idsOf(o.Fleets)
	store := watch(o.Store, d.meters, o.Logger)
	if o.Cluster != nil {
		store = watchShared(o.Store, d.meters, o.Logger)
	}
	d.service, err = devices.New(ctx, store, devices.Options{Safety: &timedSafety{o.Safety, d.meters.checks}, Executor: d.fleets.executor, Timeout: o.Timeout,
		OfflineAfter: o.OfflineAfter, Retention: o.Retention, QueueLimit: o.QueueLimit, MaxDevices: o.MaxDevices, Shared: d.share(), Now: o.Now, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	if o.Cluster == nil {
		err = d.open(ctx)
	}
	if err = errors.Join(err, d.joinHouse(t, a, s)); err == nil {
		d.api, err = devicesapi.New(d.service, devicesapi.Options{Caller: auth.NameOf, MayReset: mayReset, MayReport: d.fleets.mayReport, CommandWait: o.CommandWait,
			Zones: zonesOf(o.Safety), Now: o.Now})
	}
	if err != nil {
		return nil, errors.Join(err, d.drain(context.WithoutCancel(ctx)))
	}
	return d, nil
}

// zonesOf returns the zones by which a Safety judges, if it tells them.
func zonesOf(s devices.Safety) []safety.Zone {
	if z, ok := s.(safety.Zoned); ok {
		return z.Zones()
	}
	return nil
}

// open registers the devices of the fleets and opens these.
func (d *Devices) open(ctx context.Context) error {
	for _, f := range d.opts.Fleets {
		for _, n := range f.Devices {
			if _, err := d.service.Get(n.ID); err == nil {
				continue
			}
			_, err := d.service.Create(ctx, n.ID, n.Name, n.Description)
			if err != nil && !errors.Is(err, devices.ErrExists) { // another engine may have been faster
				return fleetError(f, err)
			}
		}
		if err := d.fleets.open(ctx, f, d.service); err != nil {
			return fleetError(f, err)
		}
	}
	return nil
}

// mayReset returns nil for a caller who may reset an emergency stop.
func mayReset(ctx context.Context) error {
	if p, ok := auth.From(ctx); ok && p.Can(accounts.Admin) {
		return nil
	}
	return auth.ErrForbidden.Because("%s needs the role Admin", devices.ResetEmergencyStop)
}

// Service returns the service.
func (d *Devices) Service() *devices.Service { return d.service }

// Part returns what the devices contribute to a server.
func (d *Devices) Part() server.Part {
	return server.Part{Name: "devices", Operations: Operations(), Audited: devicesapi.Audited(), Routes: d.routes,
		Checks: []health.Check{{Name: "devices", Run: d.check}}, Metrics: d.metrics(),
		Start: d.start, Jobs: d.jobs, EndStreams: d.endStreams, Drain: d.drain}
}

func (d *Devices) routes(r server.Router) error {
	d.api.Mount(r)
	return nil
}

// start runs the fleets. They run until the service has ended, so that commands can still end, and are therefore no jobs.
func (d *Devices) start() {
	if d.opts.Cluster == nil {
		d.fleets.run(d.opts.Logger)
	}
}

// endStreams answers those who wait for the end of a command.
func (d *Devices) endStreams(context.Context) error {
	d.api.EndWaits()
	return nil
}

// maxDrain is how long commands that run are waited for. They take minutes, and what comes later has to stop too.
const maxDrain = 5 * time.Second

// drain ends the service and then the fleets.
func (d *Devices) drain(ctx context.Context) error {
	wait := maxDrain
	if end, limited := ctx.Deadline(); limited {
		wait = min(wait, time.Until(end)/2)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := d.service.Close(waiting)
	if d.opts.Cluster == nil { // otherwise they end with the lease
		err = errors.Join(err, d.fleets.close(ctx))
	}
	return err
}
