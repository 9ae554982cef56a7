package clusterpart

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/clusterapi"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
)

// EnginesOptions configure the part that shows the engines. Engine is required if there is no Cluster.
type EnginesOptions struct {
	// Lag returns how long ago something was heard of a driver that another engine runs; ok is false if nothing was. Default: nothing was.
	Lag func(driver string) (lag time.Duration, ok bool)

	// What is shown of an engine that is alone; with a Cluster its options count.
	Engine, Name, Host, URL, Version string
	// Works returns what an engine does that is alone, such as driver/press-1. Default: nothing is shown.
	Works func() []string
	// Ping reports whether the database of an engine that is alone answers. Default: there is none that could fail.
	Ping func(ctx context.Context) error

	Now func() time.Time // default: time.Now
}

// Engines is the part that shows the engines to people: their API, their health check and their metrics. Make it with NewEngines.
type Engines struct {
	cluster *Cluster // nil if the engine is alone
	opts    EnginesOptions
	started time.Time
}

var _ clusterapi.Plant = (*Engines)(nil)

// NewEngines returns the part. c is nil for an engine that is alone, which shows itself.
func NewEngines(c *Cluster, o EnginesOptions) (*Engines, error) {
	if c == nil && o.Engine == "" {
		return nil, fault.Option("engines", "EnginesOptions.Engine", "is required without a Cluster")
	}
	if o.Lag == nil {
		o.Lag = func(string) (time.Duration, bool) { return 0, false }
	}
	if o.Works == nil {
		o.Works = func() []string { return nil }
	}
	if o.Ping == nil {
		o.Ping = func(context.Context) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engines{cluster: c, opts: o, started: o.Now()}, nil
}

// Part returns what the engines contribute to a server.
func (e *Engines) Part() server.Part {
	p := server.Part{Name: "engines", Operations: Operations(), Routes: e.routes}
	if e.cluster != nil {
		p.Checks = []health.Check{{Name: "cluster", Run: e.check}}
		p.Metrics = append([]prometheus.Collector{newCollector(e)}, e.cluster.moves.collectors()...)
	}
	return p
}

func (e *Engines) routes(r server.Router) error {
	api, err := clusterapi.New(e, clusterapi.Options{})
	if err != nil {
		return err
	}
	api.Mount(r)
	return nil
}

// Report implements clusterapi.Plant.
func (e *Engines) Report(ctx context.Context) clusterapi.Report {
	if e.cluster != nil {
		return e.cluster.report(e.opts.Lag)
	}
	o := &e.opts
	self := clusterapi.Engine{Session: cluster.Session{Engine: o.Engine, Name: o.Name, Host: o.Host, URL: o.URL, Version: o.Version, Since: e.started}, Self: true}
	for _, work := range slices.Sorted(slices.Values(o.Works())) {
		self.Leases = append(self.Leases, cluster.Lease{Work: work})
	}
	report := clusterapi.Report{Engines: []clusterapi.Engine{self}}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if o.Ping(ctx) != nil {
		report.Database = errDatabase
	}
	return report
}

// pingTimeout is how long the database has to answer.
const pingTimeout = 2 * time.Second

// Drain implements clusterapi.Plant.
func (e *Engines) Drain(ctx context.Context, engine string, drain bool) error {
	switch {
	case e.cluster != nil:
		return e.cluster.DrainEngine(ctx, engine, drain)
	case engine != e.opts.Engine:
		return cluster.ErrEngineNotFound.On("engineId", engine)
	case drain:
		return noOtherEngine(engine, e.opts.Name)
	}
	return nil
}
