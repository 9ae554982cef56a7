package aaspart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/aasapi/aasgrpc"
	"github.com/otkit/otkit/transport/aasapi/aasv1"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Options configure the shells of a server. The zero value works: they are kept in memory then.
type Options struct {
	Store repository.Store
	// Service is about the shells. Now and Logger default to those below, Values to the tag engine.
	Service repository.Options
	// API is about the standard's API. Guard, MaxBodyBytes, MaxFileBytes and Now are set by the part.
	API          aasapi.Options
	MaxBodyBytes int64      // of a JSON body; see aasapi.Options
	TagMapping   TagMapping // tags that become submodels
	// Cluster has the engines that share the store and the tags; nil if this one has them for itself. One of them maps tags.
	Cluster *clusterpart.Cluster

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o *Options) withDefaults() error {
	if o.Store == nil {
		o.Store = repository.NewMemory()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Service.Now == nil {
		o.Service.Now = o.Now
	}
	if o.Service.Logger == nil {
		o.Service.Logger = o.Logger
	}
	o.API.MaxBodyBytes, o.API.MaxFileBytes, o.API.Now = o.MaxBodyBytes, o.Service.MaxFileBytes, o.Service.Now
	return o.TagMapping.withDefaults()
}

// AAS is the part. Make it with New.
type AAS struct {
	opts     Options
	service  *repository.Service
	standard *aasapi.API  // from routes on
	engine   *tags.Engine // nil where there are no tags
}

// New opens the shells. Without tags, which may be nil, no submodel shows any.
func New(_ context.Context, t *tagspart.Tags, o Options) (*AAS, error) {
	if err := o.withDefaults(); err != nil {
		return nil, err
	}
	a := &AAS{opts: o}
	switch {
	case t != nil:
		a.engine = t.Engine()
		t.AddReferences(a.references)
	case len(o.TagMapping.Equipment) > 0:
		return nil, errors.New("asset administration shells: Options.TagMapping needs the tags, which are nil")
	}
	if o.Service.Values == nil && a.engine != nil {
		values, err := newValues(a.engine)
		if err != nil {
			return nil, err
		}
		o.Service.Values = values
	}
	var err error
	if a.service, err = repository.New(o.Store, o.Service); err != nil {
		return nil, fmt.Errorf("asset administration shells: %w", err)
	}
	return a, nil
}

// Service returns the asset administration shells.
func (a *AAS) Service() *repository.Service { return a.service }

// Part returns what the shells contribute to a server.
func (a *AAS) Part() server.Part {
	p := server.Part{Name: "aas", Operations: Operations(), Routes: a.routes, GRPC: a.grpc, Drain: a.drain, Close: a.service.Close}
	if len(a.opts.TagMapping.Equipment) > 0 {
		p.Jobs = append(p.Jobs, a.opts.Cluster.Once("aas-mapping", a.mapping))
	}
	return p
}

// routes registers our API, and the standard's, which has a table of operations of its own.
func (a *AAS) routes(r server.Router) error {
	own, err := aasv1.New(a.service, aasv1.Options{})
	if err != nil {
		return err
	}
	own.Mount(r)
	o := a.opts.API
	o.Guard = r.Guard
	if a.standard, err = aasapi.New(a.service, o); err != nil {
		return err
	}
	for _, path := range append(aasapi.Prefixes(), aasapi.RootPaths(o.AtRoot)...) {
		r.Delegate(path, a.standard)
	}
	return nil
}

func (a *AAS) grpc(r grpc.ServiceRegistrar) error {
	api, err := aasgrpc.New(a.service)
	if err != nil {
		return err
	}
	api.Register(r)
	return nil
}

// drain ends the invocations that run.
func (a *AAS) drain(ctx context.Context) error {
	if a.standard == nil {
		return nil
	}
	return a.standard.Close(ctx)
}
