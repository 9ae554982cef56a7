package predictivepart

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/predictive/registry"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/predictiveapi"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

const pkg = "predictive"

// Options configure the predictions of a server. The zero value works and keeps everything in memory.
type Options struct {
	Records predictive.RecordStore // default: in memory
	// Registry keeps the models. Default: the files of ModelDir or, if that is empty, in memory. One that can adopt models, as storage/modelstore does,
	// takes over those of ModelDir if it has none.
	Registry predictive.Registry
	ModelDir string
	Keep     int // versions of each model type in ModelDir; see registry.Options
	// Cluster has the engines that share the stores; nil if this one has them for itself. Registry must then be a predictive.JobStore, too: one engine
	// trains for all. One predicts on a timer: that which runs the driver predictive.
	Cluster *clusterpart.Cluster

	// History and Inventory are those of the tags unless they are set; see NewHistory and NewInventory.
	History   predictive.History
	Inventory predictive.Inventory
	Downtime  predictive.Downtime // default: none
	// Models answer in place of the trained ones; see predictive.Deps.
	Models map[predictive.ModelType]predictive.Model

	// Tags chooses the tags and drivers of the default Inventory.
	Tags InventoryOptions

	// Monitor are the options of the predictions on a timer, which find nothing without a model; its Within defaults to the horizon.
	// Retrain are those of trainings on a schedule, of which there are none by default.
	Monitor        monitor.Options
	Retrain        monitor.RetrainOptions
	WithoutMonitor bool // predict only when asked, and show no tags and alarms
	WithoutTags    bool // show no result as tags
	// Alarms are the options of the alarms about results, and Failures those of the failures that are recorded from alarms.
	Alarms          predictivealarms.Options
	Failures        alarmfailures.Options
	WithoutFailures bool // record no failures from alarms
	// Engine names this engine, the same after each start, if several with different tags use one RecordStore without Cluster. Default: no other does.
	Engine string

	// Service are the options of the service. Its Clock and Log default to those below.
	Service predictive.Options

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults(t *tagspart.Tags) (_ Options, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Service.Clock == nil {
		o.Service.Clock = o.Now
	}
	if o.Service.Log == nil {
		o.Service.Log = o.Logger
	}
	if t == nil && (o.History == nil || o.Inventory == nil) {
		return o, fault.Option(pkg, "tags", "are required, or Options.History and Options.Inventory")
	}
	if o.History == nil {
		o.History = NewHistory(t.History())
	}
	if o.Inventory == nil {
		if o.Inventory, err = NewInventory(t.Engine(), o.Tags); err != nil {
			return o, err
		}
	}
	if o.Records == nil {
		o.Records = new(predictive.MemoryRecords)
	}
	switch {
	case o.Registry != nil:
	case o.ModelDir == "":
		o.Registry = new(predictive.MemoryRegistry)
	default:
		o.Registry, err = registry.Open(registry.Options{Dir: o.ModelDir, Keep: o.Keep, Logger: o.Logger})
	}
	return o, err
}

// Predictive is the part. Make it with New.
type Predictive struct {
	opts    Options
	service *predictive.Service
	api     *predictiveapi.API
	meters  *meters
	models  *modelCollector
	damage  damage
	jobs    []func(context.Context)
	shown   wake.Signal // the models have changed, and so may what is predicted

	latest     monitor.Latest
	monitoring sync.Mutex                      // held while runMonitor does
	monitor    atomic.Pointer[monitor.Monitor] // that runs; nil for none
	alarms     *alarmspart.Alarms              // nil for none
}

// New makes the predictions of a server from the history of its tags. The tags may be nil if the options have a History and an Inventory,
// and the alarms may be nil.
func New(ctx context.Context, t *tagspart.Tags, a *alarmspart.Alarms, o Options) (*Predictive, error) {
	o, err := o.withDefaults(t)
	if err != nil {
		return nil, err
	}
	if err := adopt(ctx, o); err != nil {
		return nil, err
	}
	p := &Predictive{opts: o, meters: newMeters(), models: newModelCollector(o.Registry, o.Now), damage: damage{registry: o.Registry}, shown: wake.NewSignal(), alarms: a}
	deps := predictive.Deps{History: o.History, Inventory: o.Inventory, Records: o.Records, Registry: o.Registry, Downtime: o.Downtime, Models: o.Models}
	so := o.Service
	so.OnJob, so.OnOtherJob, so.OnAnswer = p.onJob, p.onOtherJob, p.onAnswer
	if o.Cluster != nil {
		jobs, ok := o.Registry.(predictive.JobStore)
		if !ok {
			return nil, fault.Option(pkg, "Options.Registry", "must be a predictive.JobStore with Options.Cluster")
		}
		deps.Jobs, so.Engine, so.Alive = jobs, o.Cluster.Engine(), o.Cluster.Alive
	}
	if p.service, err = predictive.New(deps, so); err != nil {
		return nil, err
	}
	if p.api, err = predictiveapi.New(p.service, o.Records, predictiveapi.Options{Now: o.Now, Known: known}); err != nil {
		return nil, err
	}
	if o.Cluster != nil {
		p.jobs = append(p.jobs, p.service.Follow)
	}
	return p, p.joinHouse(t, a)
}

// adopter is a registry that takes over the models of another one if it has none.
type adopter interface {
	Adopt(ctx context.Context, from predictive.Registry) error
}

// adopt takes over the models of a directory.
func adopt(ctx context.Context, o Options) error {
	into, ok := o.Registry.(adopter)
	if !ok || o.ModelDir == "" {
		return nil
	}
	if _, err := os.Stat(o.ModelDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	from, err := registry.Open(registry.Options{Dir: o.ModelDir, Logger: o.Logger})
	if err != nil {
		return err
	}
	return into.Adopt(ctx, from)
}

func known(ctx context.Context) bool {
	_, ok := auth.From(ctx)
	return ok
}

// onJob takes a change of a job. The service reports none before New has returned.
func (p *Predictive) onJob(j predictive.Job) {
	p.meters.onJob(j)
	p.note(j)
	if p.opts.Service.OnJob != nil {
		p.opts.Service.OnJob(j)
	}
}

// onOtherJob takes a change of a job of another engine.
func (p *Predictive) onOtherJob(j predictive.Job) {
	p.note(j)
	if p.opts.Service.OnOtherJob != nil {
		p.opts.Service.OnOtherJob(j)
	}
}

// note tells of a change of a job.
func (p *Predictive) note(j predictive.Job) {
	p.api.OnJob(j)
	if j.State != predictive.JobSucceeded {
		return
	}
	p.models.changed.Store(true)
	p.shown.Set()
	if m := p.monitor.Load(); m != nil {
		m.Renew()
	}
}

func (p *Predictive) onAnswer(a predictive.Answer) {
	p.meters.onAnswer(a)
	if p.opts.Service.OnAnswer != nil {
		p.opts.Service.OnAnswer(a)
	}
}

// Service returns the service.
func (p *Predictive) Service() *predictive.Service { return p.service }

// Records returns the failures and replacements.
func (p *Predictive) Records() predictive.RecordStore { return p.opts.Records }

// Registry returns the models.
func (p *Predictive) Registry() predictive.Registry { return p.opts.Registry }

// Part returns what the predictions contribute to a server.
func (p *Predictive) Part() server.Part {
	return server.Part{Name: pkg, Operations: Operations(), Audited: predictiveapi.Audited(), Routes: p.routes, Checks: []health.Check{{Name: pkg, Run: p.check}}, Metrics: p.metrics(), Jobs: p.jobs,
		EndStreams: p.endStreams, Drain: p.service.Close}
}

func (p *Predictive) routes(r server.Router) error {
	p.api.Mount(r)
	return nil
}

// endStreams answers those who wait for trainings.
func (p *Predictive) endStreams(context.Context) error {
	p.api.EndStreams()
	return nil
}
