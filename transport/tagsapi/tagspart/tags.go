package tagspart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/mirror"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi"
	"github.com/otkit/otkit/transport/tagsapi/driversapi"
	"github.com/otkit/otkit/transport/tagsapi/tagconfigapi"
	"github.com/otkit/otkit/transport/tagsapi/tagsgrpc"
)

// Options configure the tags of a server. ModelPath or Config is required; without stores everything is kept in memory.
type Options struct {
	ModelPath string // the tag configuration's model file; empty for none, if there is Config
	// Config has the tag configuration; the model file follows it in both directions. Default: the file alone has it.
	Config tagconfig.Repository
	// InitialModel is the path of a model file that an empty Config without ModelPath begins with.
	InitialModel  string
	MaxConfigured int // most items of the tag configuration; default 200,000
	// OnModelFile is called with what a model file that was edited has changed. It must not wait. It may be nil.
	OnModelFile func(tagconfig.FileEdit)
	// OnImport is called with what an import of the tag configuration has changed, with the context of its caller. It must not wait. It may be nil.
	OnImport func(ctx context.Context, e tagconfig.FileEdit)

	Drivers []Driver // of the settings: they cannot be changed by calls

	DriverTypes   driverconfig.Types // what drivers can be created by calls; default: none
	DriverStore   drivers.Repository // of the drivers that were created by calls; default: in memory
	DriverOptions drivers.Options    // Now and Logger are those below

	Writes tags.WriteLog // default: the newest 10,000 in memory
	// WriteLogMaxAge is how long the outcomes of writes are kept, when the store can trim them. Default 31 days.
	WriteLogMaxAge time.Duration
	HistoryStore   history.Store // default: in memory
	History        HistoryOptions

	// MaxWithoutToken is how many tags the configuration may have for a caller without a token to add one; negative
	// for no limit, default 10,000. It does not hold for callers with a token.
	MaxWithoutToken int
	// OnMaxWithoutToken is called when that limit has refused a request. It must not wait. It may be nil.
	OnMaxWithoutToken func(ctx context.Context, limit int)
	// MaxImportBytes is how large an imported file of the tag configuration may be. Default 128 MiB.
	MaxImportBytes int64

	// Cluster has the engines that share the plant. Each driver is then run by one of them at a time. Nil: this engine is alone.
	Cluster *clusterpart.Cluster

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// Driver is one driver of the tag engine.
type Driver struct {
	ID      string
	Driver  tags.Driver
	Options tags.DriverOptions // Tags are what the driver knows of its tags; the tag configuration overrides them
	// Definition is what the driver was made of, to be shown, for those of Options.Drivers; ID may be left empty. If it has a Type, it is
	// complete: with a Cluster, it is stored for all engines, which make their drivers of it. Without a Type, each engine must be given the driver.
	Definition drivers.Definition
}

// HistoryOptions configure the history of tag values.
type HistoryOptions struct {
	Disabled   bool
	MaxAge     time.Duration // default 31 days; negative for no limit
	MaxBytes   int64         // default 1 GiB; negative for no limit
	FlushEvery time.Duration // longest time that a sample waits to be stored; default 1 s
}

func (o Options) withDefaults() (Options, error) {
	if o.ModelPath == "" && o.Config == nil {
		return o, errors.New("tags: Options.ModelPath is required")
	}
	if o.Writes == nil {
		o.Writes = tags.NewMemoryWriteLog(10_000)
	}
	if o.WriteLogMaxAge == 0 {
		o.WriteLogMaxAge = 31 * 24 * time.Hour
	}
	switch {
	case o.History.Disabled:
		o.HistoryStore = nil
	case o.HistoryStore == nil:
		o.HistoryStore = history.NewMemory()
	}
	if o.MaxWithoutToken == 0 {
		o.MaxWithoutToken = 10_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	seen := make(map[string]bool)
	for i, d := range o.Drivers {
		if d.Driver == nil {
			return o, fmt.Errorf("tags: Options.Drivers[%d] has a nil Driver", i)
		}
		if seen[d.ID] {
			return o, tags.ErrDriverExists.On("driverId", d.ID)
		}
		seen[d.ID] = true
	}
	return o, nil
}

// Tags is the part. Make it with New.
type Tags struct {
	opts     Options
	engine   *tags.Engine
	recorder *history.Recorder // nil when no history is kept
	forwards *forwards
	config   *tagconfig.Store
	binder   *tagconfig.Binder
	configs  *tagconfigapi.API
	api      *tagsapi.API
	drivers  *drivers.Service
	mirror   *mirror.Mirror // nil without a cluster
	unheed   func()         // ends the subscription to changes of drivers; nil without a cluster

	assigning sync.Mutex // held while the cluster is told which drivers there are

	adding sync.Mutex // held while what is known of a driver changes

	mu         sync.Mutex
	unobserve  []func()
	references []References
	companions []Companion
	local      map[string]map[string]string // labels that drivers of other parts require, by id
}

// New opens the tag configuration and starts the drivers.
func New(ctx context.Context, o Options) (*Tags, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Tags{opts: o, local: map[string]map[string]string{}}
	eo := tags.Options{Logger: o.Logger, Now: o.Now, Writes: o.Writes}
	if o.Cluster != nil {
		eo.Shared = &tags.Shared{Engine: o.Cluster.Name(), Write: t.passOn}
	}
	if o.HistoryStore != nil {
		t.forwards = &forwards{append: history.StoreChanges(o.HistoryStore), log: o.Logger}
		eo.Store = t.forwards.store
	}
	if t.engine, err = tags.New(eo); err != nil {
		return nil, err
	}
	if err = t.openMirror(); err == nil {
		err = t.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.drain(context.WithoutCancel(ctx)))
	}
	return t, nil
}

func (t *Tags) open(ctx context.Context) (err error) {
	o := t.opts
	if o.HistoryStore != nil {
		ro := history.RecorderOptions{Logger: o.Logger, Now: o.Now, MaxAge: o.History.MaxAge, MaxBytes: o.History.MaxBytes, FlushInterval: o.History.FlushEvery}
		if o.Cluster != nil {
			ro.TrimInterval = -1 // one engine trims for all
		}
		t.recorder, err = history.NewRecorder(o.HistoryStore, ro)
		if err != nil {
			return err
		}
		t.engine.Observe(t.recorder.Observe)
	}
	if t.binder, err = tagconfig.NewBinder(t.engine, o.Logger); err != nil {
		return err
	}
	t.config, err = tagconfig.Open(ctx, tagconfig.Options{Path: o.ModelPath, Repository: o.Config, Initial: o.InitialModel, MaxItems: o.MaxConfigured,
		OnChange: t.binder.Change, OnFileEdit: o.OnModelFile, Logger: o.Logger, Now: o.Now})
	if err != nil {
		return fmt.Errorf("tag configuration: %w", err)
	}
	t.configs, err = tagconfigapi.New(t.config, tagconfigapi.Options{MaxTags: t.maxTags, OnMaxTags: t.onMaxTags, References: t.References,
		MayRemove: mayRemove, OnImport: o.OnImport, Refused: t.whyRefused, MaxItems: o.MaxConfigured, MaxImportBytes: o.MaxImportBytes, Now: o.Now, Logger: o.Logger})
	if err != nil {
		return err
	}
	t.api, err = tagsapi.New(t.engine, tagsapi.Options{History: o.HistoryStore, Caller: auth.NameOf, Now: o.Now})
	if err != nil {
		return err
	}
	return t.openDrivers(ctx)
}

// SetTags replaces what a source knows of tags: a driver, or who defines tags of drivers, such as a template. Tags without
// a driver are of the driver of that id. The tag configuration overrides them.
func (t *Tags) SetTags(source string, list []tags.Tag) error {
	base := make([]tags.Tag, len(list))
	items := make([]tagconfig.Config, len(list))
	for i, tag := range list {
		tag.Driver = cmp.Or(tag.Driver, source)
		if err := tag.Validate(); err != nil {
			return err
		}
		base[i], items[i] = tag, tagconfig.FromTag(tag)
	}
	t.config.Seed(source, items...)
	t.binder.SetBase(source, base)
	return nil
}

// Engine returns the tag engine.
func (t *Tags) Engine() *tags.Engine { return t.engine }

// History returns the store of the history, nil if none is kept.
func (t *Tags) History() history.Store { return t.opts.HistoryStore }

// Current returns a tag with its newest sample, and reports whether there is such a tag.
func (t *Tags) Current(name string) (tags.Snapshot, bool) {
	s, err := t.engine.Read(name)
	return s, err == nil
}

// Observe calls observe with every change of a tag until the engine begins to stop. Changes while the drivers stop
// are not observed, because they are not faults.
func (t *Tags) Observe(observe func([]tags.Change)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unobserve = append(t.unobserve, t.engine.Observe(observe))
}

// Part returns what the tags contribute to a server.
func (t *Tags) Part() server.Part {
	described := tagsapi.Audited(t.engine)
	maps.Copy(described, tagconfigapi.Audited(t.config))
	maps.Copy(described, driversapi.Audited(t.drivers, t.configuredOf))
	return server.Part{Name: "tags", Operations: Operations(), Audited: described, Routes: t.routes, GRPC: t.grpc,
		Checks: t.checks(), Metrics: t.metrics(), Jobs: t.jobs(), EndStreams: t.endStreams, Drain: t.drain}
}

func (t *Tags) endStreams(context.Context) error {
	t.api.EndStreams()
	return nil
}

func (t *Tags) routes(r server.Router) error {
	managed, err := driversapi.New(t.drivers, driversapi.Options{MayRemove: t.mayRemoveTags, MayChange: t.mayChangeTags, RemoveTags: t.removeTags})
	if err != nil {
		return err
	}
	t.api.Mount(r)
	t.configs.Mount(r)
	managed.Mount(r)
	return nil
}

// maxTags is the limit of the tag configuration for a caller.
func (t *Tags) maxTags(ctx context.Context) int {
	if _, ok := auth.From(ctx); ok {
		return 0
	}
	return max(0, t.opts.MaxWithoutToken)
}

// mayRemove refuses to remove items to callers of the open surface, as the operations do that remove them.
func mayRemove(ctx context.Context) error {
	p, ok := auth.From(ctx)
	switch {
	case !ok:
		return auth.ErrUnauthenticated.Because("mode=replace needs a token with the role Admin")
	case !p.Can(accounts.Admin):
		return auth.ErrForbidden.Because("mode=replace needs the role Admin")
	}
	return nil
}

func (t *Tags) onMaxTags(ctx context.Context) {
	if t.opts.OnMaxWithoutToken != nil {
		t.opts.OnMaxWithoutToken(ctx, t.opts.MaxWithoutToken)
	}
}

func (t *Tags) grpc(r grpc.ServiceRegistrar) error {
	api, err := tagsgrpc.New(t.engine, tagsgrpc.Options{Caller: auth.NameOf})
	if err != nil {
		return err
	}
	api.Register(server.Methods(r, "GetTagList", "ReadTag", "ReadTags", "WriteTag", "WriteTags", "GetWrite", "ListWrites", "SubscribeTagChanges", "StreamTagChanges"))
	return nil
}

func (t *Tags) metrics() []prometheus.Collector {
	list := []prometheus.Collector{newDriverCollector(t.engine.Drivers)}
	if t.recorder != nil {
		list = append(list, newHistoryCollector(t.historyStats))
	}
	return list
}

// drain stops the drivers after their queued writes, and stores what the history still holds.
func (t *Tags) drain(ctx context.Context) error {
	t.mu.Lock()
	for _, end := range t.unobserve {
		end()
	}
	t.unobserve = nil
	t.mu.Unlock()
	if t.mirror != nil {
		t.mirror.Close()
	}
	if t.unheed != nil {
		t.unheed()
	}
	err := t.engine.Close(ctx)
	if t.config != nil {
		err = errors.Join(err, t.config.Sync(ctx))
	}
	if t.recorder != nil {
		err = errors.Join(err, t.recorder.Close(ctx))
	}
	return err
}
