package derivedpart

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/derivedapi"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// DriverType is the type that the driver of derived tags has in the list of drivers.
const DriverType = "Derived"

// Options configure the derived tags of a server. The zero value works.
type Options struct {
	Repository derived.Repository // default: in memory
	MaxTags    int                // see derived.Options

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// Derived is the part. Make it with New.
type Derived struct {
	tags      *tagspart.Tags
	service   *derived.Service
	templates *tagtemplate.Service
	api       *derivedapi.API
	added     bool // the driver is there; for define
	tagged    bool // templates have had tags; for setTags
}

// New opens the definitions of derived tags and computes them.
func New(ctx context.Context, t *tagspart.Tags, o Options) (*Derived, error) {
	if t == nil {
		return nil, fault.Option("derivedpart", "tags", "are required")
	}
	d := &Derived{tags: t}
	var pending []tags.Tag
	ready := false
	var err error
	d.service, err = derived.New(ctx, t.Engine(), derived.Options{Repository: o.Repository, MaxTags: o.MaxTags, Now: o.Now, Logger: o.Logger,
		Define: func(list []tags.Tag) error {
			if !ready {
				pending = list
				return nil
			}
			return d.define(list)
		}})
	if err != nil {
		return nil, err
	}
	ready = true
	if err := d.define(pending); err != nil && o.Logger != nil { // such as a driver of the same id that the settings name
		o.Logger.Error("failed to define derived tags", "error", err)
	}
	d.templates, err = tagtemplate.New(ctx, d.service, tagtemplate.Options{Repository: o.Repository, Now: o.Now, Logger: o.Logger, SetTags: d.setTags})
	if err != nil {
		d.service.Close()
		return nil, err
	}
	d.api, err = derivedapi.New(d.service, d.templates, derivedapi.Options{References: t.References, Current: t.Current})
	if err != nil {
		d.service.Close()
		return nil, err
	}
	t.AddReferences(d.references)
	return d, nil
}

// define gives the tags to the configuration. The driver comes with the first of them.
func (d *Derived) define(list []tags.Tag) error {
	if d.added || len(list) == 0 {
		if !d.added {
			return nil
		}
		return d.tags.SetTags(derived.DriverID, list)
	}
	err := d.tags.AddDriver(tagspart.Driver{ID: derived.DriverID, Driver: d.service.Driver(), Options: tags.DriverOptions{Type: DriverType, Tags: list}})
	d.added = err == nil
	return err
}

// templateSource is the source of the tags of templates in the tag configuration. No driver that is created by a call can have this id, and
// what a driver itself knows of a tag counts before it.
const templateSource = "~/templates"

// setTags gives the tags of templates to the configuration.
func (d *Derived) setTags(list []tags.Tag) error {
	if !d.tagged && len(list) == 0 {
		return nil
	}
	d.tagged = true
	return d.tags.SetTags(templateSource, list)
}

// references tells which derived tags use tags.
func (d *Derived) references(_ context.Context, tagIDs []string) (all []tagspart.Reference, err error) {
	for _, tag := range tagIDs {
		for _, id := range d.service.Users(tag) {
			all = append(all, tagspart.Reference{Tag: tag, Kind: derivedapi.DerivedTagKind, ID: id})
		}
	}
	return all, nil
}

// Service returns the derived tags, for programs that embed the engine.
func (d *Derived) Service() *derived.Service { return d.service }

// Templates returns the templates, for programs that embed the engine.
func (d *Derived) Templates() *tagtemplate.Service { return d.templates }

// Part returns what the derived tags contribute to a server.
func (d *Derived) Part() server.Part {
	return server.Part{Name: "derived tags", Operations: Operations(), Audited: derivedapi.Audited(d.service, d.templates), Routes: d.routes,
		Checks: []health.Check{{Name: "derived-tags", Run: d.check}}, Jobs: []func(context.Context){d.service.Follow, d.templates.Follow}, Close: d.close}
}

func (d *Derived) routes(r server.Router) error {
	d.api.Mount(r)
	return nil
}

func (d *Derived) check(context.Context) health.Result {
	if err := d.templates.Err(); err != nil {
		return health.Result{Status: health.Degraded, Description: "the tags of templates cannot be defined; retrying"}
	}
	all, faulty := d.service.Count()
	if faulty > 0 {
		return health.Result{Status: health.Degraded, Description: fmt.Sprintf("%d of %d derived tags cannot be computed: an input does not exist or has another type", faulty, all)}
	}
	return health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d derived tags", all)}
}

func (d *Derived) close(context.Context) error {
	d.service.Close()
	return nil
}
