package discoverypart

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridgeclient"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
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

	Scanner discovery.Scanner    // default: scans find nothing
	Client  bridgeclient.Options // of calls to bridges
	// EngineURL is where bridges reach the engine, such as https://engine.example.com:5001. Default: the address of this machine in the
	// network of the bridge, with the port that Addr returns.
	EngineURL  string
	BindSecret string        // for bridges that want one
	Heartbeat  time.Duration // default 30 s

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	if o.EngineID == "" {
		return o, fault.Option("discovery", "Options.EngineID", "is required")
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
	return o, nil
}

// Discovery is the part. Make it with New.
type Discovery struct {
	opts    Options
	service *discovery.Service
	client  *bridgeclient.Client
	api     *discoveryapi.API
	jobs    []func(context.Context)
}

// New brings back the bindings of the store. The tags are required; the alarms and shells may be nil.
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
	d.service, err = discovery.New(ctx, discovery.Deps{Store: o.Store, Bridges: d.client, Scanner: o.Scanner}, discovery.Options{EngineID: o.EngineID,
		Shared: o.Shared, BindSecret: o.BindSecret, Heartbeat: o.Heartbeat, Now: o.Now, Logger: o.Logger})
	if err == nil {
		d.jobs = append(d.jobs, d.service.Run)
		d.api, err = discoveryapi.New(d.service, discoveryapi.Options{})
	}
	if err != nil {
		return nil, errors.Join(err, d.close(ctx))
	}
	return d, nil
}

// Service returns the service.
func (d *Discovery) Service() *discovery.Service { return d.service }

// Part returns what discovery contributes to a server.
func (d *Discovery) Part() server.Part {
	return server.Part{Name: "discovery", Operations: Operations(), Audited: discoveryapi.Audited(), Routes: d.routes,
		Checks: []health.Check{{Name: "bridges", Run: d.check}}, Jobs: d.jobs, EndStreams: d.endStreams, Close: d.close}
}

func (d *Discovery) routes(r server.Router) error {
	d.api.Mount(r)
	return nil
}

func (d *Discovery) endStreams(context.Context) error {
	d.api.EndScans()
	return nil
}

func (d *Discovery) close(context.Context) error {
	d.client.Close()
	return nil
}
