package predictive

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive/features"
)

// Deps are what a [Service] works with.
type Deps struct {
	History   History
	Inventory Inventory
	Records   RecordReader
	Registry  Registry
	// Downtime is optional: without it, nothing was stopped on purpose.
	Downtime Downtime
	// Models are optional: models that answer predictions in place of the trained one of a type. Trainings and metrics are those of the
	// registry still.
	Models map[ModelType]Model
	// Jobs is optional: the trainings of all services that share the Registry. A training then runs at one of them, and all know its job, as long as
	// [Service.Follow] runs. Options.Engine is required with it.
	Jobs JobStore
}

// Options change a [Service].
type Options struct {
	// Components are those of an equipment without records. Default: [DefaultComponents].
	Components []string
	// Horizon is how far ahead a failure is predicted. Default: 7 days.
	Horizon time.Duration
	// Lookback is how much history is used. Default: 2 years.
	Lookback time.Duration
	// Features changes the features, except for their kinds. A zero Step is chosen from the data: a 200th of the median life, from a minute to a day.
	Features features.Options
	// MaxRows bounds the rows of a training, and so its memory. Those of lives that did not fail are dropped first. Default: 50,000.
	MaxRows int
	// MaxModels bounds the models of tags, or components, in a bundle. Default: 200.
	MaxModels int
	// MaxLife is the longest remaining life that is predicted. Default: 60% of the median life of the training.
	MaxLife time.Duration
	// MinFailures is how many failures a model takes, 3 or more; a remaining life is told from half as many, but at least 3. Default: 10.
	MinFailures int
	// Seed makes trainings repeatable.
	Seed uint64
	// PromoteIfBetter keeps the default model unless the new one is better, by F1 score or RMSE. Both are judged by the test of the new one: by its rows that
	// are newer than all that the default model learned from, once a failure is among them, so that a model does not stay when the plant has
	// changed; until then by all, of which the default model may know some. One that cannot be read or has another horizon does not stay.
	PromoteIfBetter bool
	// TrainingTimeout bounds a training. Default: 1 hour.
	TrainingTimeout time.Duration
	// MaxJobs is how many jobs are remembered. Default: 100.
	MaxJobs int
	// Engine names this service among those of Deps.Jobs, the same after each start.
	Engine string
	// Alive returns the Engines of the services that run, this one included. What one trains that is not in it any more has failed. A list
	// without Engine says nothing. It must not wait. Default: all run.
	Alive func() []string
	// OnJob, unless nil, is called with each change of a job. It must not block.
	OnJob func(Job)
	// OnOtherJob, unless nil, is called with each change of a job of another service, by [Service.Follow]. It must not block.
	OnOtherJob func(Job)
	// OnAnswer, unless nil, is called after each prediction and each judgment of samples. It must not block.
	OnAnswer func(Answer)

	// AnomalySamples is how many samples an anomaly call learns from. Default: 5000.
	AnomalySamples int
	// AnomalyLookback is how old they may be. Default: 30 days.
	AnomalyLookback time.Duration
	// AnomalyTags is how many tags are remembered, those asked for last, so that the next call learns from new samples only. Each takes 75 KB.
	// Default: 500.
	AnomalyTags int
	// Staleness is how long the last value of a tag is taken to hold in a multivariate call. Default: 1 hour.
	Staleness time.Duration
	// Refresh is how long the newest model is used before the registry is asked again. Default: 10 seconds.
	Refresh time.Duration

	Library string           // version of the program, for metadata
	Clock   func() time.Time // default time.Now
	NewID   func() string    // ids of jobs; default random UUIDs
	Log     *slog.Logger     // default: none
}

// DefaultComponents returns the components of an equipment whose records name none.
func DefaultComponents() []string { return []string{"Bearing", "Motor", "Gearbox", "Pump", "Seal"} }

// Service predicts failures, remaining lives and anomalies. It is safe for concurrent use.
type Service struct {
	deps      Deps
	o         Options
	models    map[ModelType]*served
	externals map[ModelType]*external
	baselines baselines
	detectors detectors
	jobs      jobs
	drifts    drifts
	exports   turn
}

// New returns a service. Close it.
func New(deps Deps, o Options) (*Service, error) {
	for _, dep := range []struct {
		name    string
		missing bool
	}{{"History", deps.History == nil}, {"Inventory", deps.Inventory == nil}, {"Records", deps.Records == nil}, {"Registry", deps.Registry == nil}} {
		if dep.missing {
			return nil, fault.Option(pkg, "Deps."+dep.name, "is required")
		}
	}
	if deps.Jobs != nil && o.Engine == "" {
		return nil, fault.Option(pkg, "Options.Engine", "is required with Deps.Jobs")
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	own, err := externals(deps.Models, o)
	if err != nil {
		return nil, err
	}
	s := &Service{deps: deps, o: o, models: make(map[ModelType]*served), externals: own, detectors: detectors{limit: o.AnomalyTags}, exports: newTurn()}
	s.drifts = drifts{turn: newTurn(), known: make(map[ModelType]knownDrift)}
	for _, t := range ModelTypes() {
		s.models[t] = new(served)
	}
	s.jobs.init()
	return s, nil
}

const pkg = "predictive"

// complete checks the options and sets defaults.
func (o *Options) complete() error {
	for _, option := range []struct {
		path     string
		value    *time.Duration
		fallback time.Duration
	}{{"Horizon", &o.Horizon, 7 * 24 * time.Hour}, {"Lookback", &o.Lookback, 2 * 365 * 24 * time.Hour}, {"MaxLife", &o.MaxLife, 0},
		{"TrainingTimeout", &o.TrainingTimeout, time.Hour}, {"AnomalyLookback", &o.AnomalyLookback, 30 * 24 * time.Hour},
		{"Staleness", &o.Staleness, time.Hour}, {"Refresh", &o.Refresh, 10 * time.Second}} {
		if *option.value < 0 {
			return fault.Option(pkg, "Options."+option.path, "is %s, want 0 or more", *option.value)
		}
		*option.value = cmp.Or(*option.value, option.fallback)
	}
	for _, option := range []struct {
		path               string
		value              *int
		min, fallback, max int
	}{{"MaxRows", &o.MaxRows, 100, 50_000, 10_000_000}, {"MaxModels", &o.MaxModels, 2, 200, 10_000}, {"MinFailures", &o.MinFailures, 3, 10, 1000},
		{"MaxJobs", &o.MaxJobs, 1, 100, 10_000}, {"AnomalySamples", &o.AnomalySamples, 500, 5000, 100_000}, {"AnomalyTags", &o.AnomalyTags, 1, 500, 1_000_000}} {
		if *option.value = cmp.Or(*option.value, option.fallback); *option.value < option.min || *option.value > option.max {
			return fault.Option(pkg, "Options."+option.path, "is %d, want %d to %d", *option.value, option.min, option.max)
		}
	}
	if err := o.checkFeatures(); err != nil {
		return fault.Option(pkg, "Options.Features", "is not usable: %v", err)
	}
	if len(o.Components) == 0 {
		o.Components = DefaultComponents()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// checkFeatures refuses options that no extractor can be made with. All kinds are needed.
func (o *Options) checkFeatures() error {
	o.Features.Kinds = nil
	_, err := features.NewFitter([]features.Signal{{Name: pooledSignal}}, o.Features)
	return err
}

// Close cancels trainings and waits for them. Follow should have ended.
func (s *Service) Close(ctx context.Context) error {
	err := s.jobs.close(ctx)
	if s.deps.Jobs != nil {
		err = errors.Join(err, s.storeJobs(ctx))
	}
	return err
}

// Sample is a value of a tag.
type Sample struct {
	Time  time.Time
	Value float64
	// Bad is set when the source says that the value cannot be used.
	Bad bool
}

// History has the samples of tags. It is safe for concurrent use.
type History interface {
	// Samples returns the samples of a tag from a time, included, to another, excluded, oldest first. A caller that stops early must not
	// cost more than what it has read. An unknown tag has no samples. After an error the sequence ends.
	Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error]
}

// NewestReader is an optional part of a [History] that makes anomaly calls cheaper.
type NewestReader interface {
	// Newest returns the newest samples, at most n, of a tag from a time, included, to another, excluded, oldest first.
	Newest(ctx context.Context, tag string, from, to time.Time, n int) ([]Sample, error)
}

// Tag is a signal of an equipment.
type Tag struct {
	ID string
	// Role is the name that tags of the same meaning share among equipments, such as vibration. Empty means the id without the name of
	// the equipment; see [RoleOf].
	Role string
	Unit string
	// Setting is set for a tag that says how the equipment is run, such as load, speed or product.
	Setting bool
}

// Inventory knows the equipments and their tags. It is safe for concurrent use. Nobody changes the lists that it returns.
type Inventory interface {
	// Equipments returns the ids of all equipments.
	Equipments(ctx context.Context) ([]string, error)
	// Tags returns the tags of an equipment, none for an unknown one.
	Tags(ctx context.Context, equipment string) ([]Tag, error)
}

// TagFinder is an optional part of an [Inventory] that makes anomaly calls cheaper.
type TagFinder interface {
	// HasTag reports whether a tag exists.
	HasTag(ctx context.Context, tag string) (bool, error)
}

// Interval is a span of time from Start, included, to End, excluded.
type Interval struct{ Start, End time.Time }

// Downtime tells when an equipment was stopped on purpose. Its samples are then used neither for trainings nor for predictions.
type Downtime interface {
	// Downtimes returns the planned stops of an equipment that overlap a span of time, in any order.
	Downtimes(ctx context.Context, equipment string, from, to time.Time) ([]Interval, error)
}
