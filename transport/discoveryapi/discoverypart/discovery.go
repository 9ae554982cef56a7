package discoverypart

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/alarms/bridgealarms"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridgeclient"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/discoveryapi"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Options configure discovery. EngineID is required.
type Options struct {
	Store discovery.Store // default: in memory
	// EngineID is the name by which bridges know the engine. Required.
	EngineID string
	// Shared is set if engines of other names use the store.
	Shared bool
	// Cluster is set if engines share the store, which is a discovery.SharedStore then, and the bridges in it. The drivers of bridges are those of type
	// [DriverType] in the tag engine, which the work of kind driver runs.
	Cluster *clusterpart.Cluster

	Scanner discovery.Scanner    // default: scans find nothing
	Client  bridgeclient.Options // of calls to bridges
	// Advertise announces the engine on the network until what it returns is closed. Default: it is not announced.
	Advertise func(Announcement) (io.Closer, error)

	// Endpoint is where the engine listens. Default: it does not.
	Endpoint Endpoint
	// EngineURL is where bridges reach the engine, such as https://engine.example.com:5001. Default: the address of this machine in the
	// network of the bridge, with the port of the Endpoint.
	EngineURL  string
	BindSecret string        // for bridges that want one
	Heartbeat  time.Duration // default 30 s

	// Alarms are the options of the alarms about bridges. Now and Logger default to those below.
	Alarms        bridgealarms.Options
	WithoutShells bool // make no shells of bridges

	Name, Version string           // of the engine, as they are announced
	Now           func() time.Time // default: time.Now
	Logger        *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	if o.EngineID == "" {
		return o, fault.Option("discovery", "Options.EngineID", "is required")
	}
	if o.EngineURL != "" {
		if err := CheckEngineURL(o.EngineURL); err != nil {
			return o, fault.Option("discovery", "Options.EngineURL", "%v", err)
		}
	}
	if o.Store == nil {
		o.Store = discovery.NewMemory()
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Alarms.Now == nil {
		o.Alarms.Now = o.Now
	}
	if o.Alarms.Logger == nil {
		o.Alarms.Logger = o.Logger
	}
	if o.Cluster != nil {
		o.Alarms.Shared, o.Alarms.Engine = true, ""
	}
	return o, nil
}

// Discovery is the part. Make it with New.
type Discovery struct {
	opts     Options
	service  *discovery.Service
	hub      *linked.Hub
	link     *bridgelink.Server
	client   *bridgeclient.Client
	api      *discoveryapi.API
	bridges  *bridges
	shells   *shells // nil for none
	jobs     []func(context.Context)
	announce io.Closer // nil for none
}

// New brings back the bindings of the store, with the tags of their bridges. The tags are required; the alarms and shells may be nil.
func New(ctx context.Context, t *tagspart.Tags, a *alarmspart.Alarms, s *aaspart.AAS, o Options) (*Discovery, error) {
	if t == nil {
		return nil, fault.Option("discovery", "tags", "is required")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Discovery{opts: o}
	if d.client, err = bridgeclient.New(o.Client); err != nil {
		return nil, err
	}
	if err := d.open(ctx, t, a, s); err != nil {
		return nil, errors.Join(err, d.endStreams(context.WithoutCancel(ctx)), d.close(ctx))
	}
	return d, nil
}

func (d *Discovery) open(ctx context.Context, t *tagspart.Tags, a *alarmspart.Alarms, s *aaspart.AAS) (err error) {
	o := d.opts
	deps := discovery.Deps{Store: o.Store, Bridges: d.client, Scanner: o.Scanner}
	if a != nil {
		monitor, err := bridgealarms.New(a.Service(), o.Alarms)
		if err != nil {
			return err
		}
		deps.Journal = monitor
		d.jobs = append(d.jobs, func(ctx context.Context) { monitor.Run(ctx, d.service) })
	}
	so := discovery.Options{EngineID: o.EngineID, Shared: o.Shared, BindSecret: o.BindSecret, Heartbeat: o.Heartbeat,
		EngineURL: d.engineURL, Pins: o.Endpoint.pins, Now: o.Now, Logger: o.Logger}
	if o.Cluster != nil {
		so.Plant, so.URLs = plant{o.Cluster}, d.urls
	}
	d.service, err = discovery.New(ctx, deps, so)
	if err != nil {
		return err
	}
	lo := linked.Options{Logger: o.Logger}
	if a != nil {
		lo.Settle = a.Rules().Settle
	}
	if d.hub, err = linked.New(d.service, lo); err != nil {
		return err
	}
	if d.link, err = bridgelink.NewServer(d.hub); err != nil {
		return err
	}
	if d.api, err = discoveryapi.New(d.service, discoveryapi.Options{Caller: auth.NameOf}); err != nil {
		return err
	}
	if s != nil && !o.WithoutShells {
		if d.shells, err = newShells(s.Service(), o.Logger, d.service.LooksAfter, d.service.SetShellProblem); err != nil {
			return err
		}
		d.jobs = append(d.jobs, d.shells.run)
	}
	d.jobs = append(d.jobs, d.service.Run, d.announceReach)
	d.bridges = &bridges{tags: t, hub: d.hub, shells: d.shells, attached: map[string]bool{}, stopping: make(chan struct{})}
	d.jobs = append(d.jobs, d.bridges.watchStop)
	return d.service.Attach(ctx, d.bridges)
}

// Service returns the service.
func (d *Discovery) Service() *discovery.Service { return d.service }

// Part returns what discovery contributes to a server.
func (d *Discovery) Part() server.Part {
	return server.Part{Name: "discovery", Operations: Operations(), Audited: discoveryapi.Audited(), Routes: d.routes, GRPC: d.grpc,
		Checks: []health.Check{{Name: "bridges", Run: d.check}}, Metrics: d.metrics(),
		Start: d.start, Jobs: d.jobs, EndStreams: d.endStreams, Close: d.close}
}

func (d *Discovery) routes(r server.Router) error {
	d.api.Mount(r)
	return nil
}

func (d *Discovery) grpc(r grpc.ServiceRegistrar) error {
	d.link.Register(r)
	return nil
}

// endStreams ends the links: the bridges keep what is not acknowledged.
func (d *Discovery) endStreams(ctx context.Context) error {
	var errs []error
	if d.announce != nil {
		errs = append(errs, d.announce.Close())
	}
	if d.api != nil {
		d.api.EndScans()
	}
	if d.bridges != nil {
		d.bridges.stop()
	}
	if d.hub != nil {
		errs = append(errs, d.hub.Close(ctx))
	}
	return errors.Join(errs...)
}

func (d *Discovery) close(context.Context) error {
	d.client.Close()
	return nil
}
