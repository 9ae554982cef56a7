package monitor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
)

// Trainer trains models. A predictive.Service is a Trainer.
type Trainer interface {
	// Retrain trains a model and waits for it.
	Retrain(ctx context.Context, modelType predictive.ModelType) (predictive.Training, error)
	// Jobs returns the trainings that run, among others.
	Jobs(ctx context.Context) ([]predictive.Job, error)
	// Metrics returns the metrics of the default model for version 0.
	Metrics(ctx context.Context, modelType predictive.ModelType, version int) (predictive.Metrics, error)
}

// RetrainOptions configure a [Retrainer]. The zero value trains nothing.
type RetrainOptions struct {
	Types []predictive.ModelType // default: all
	// Every is the age of a model from which it is trained again, and how long a training that failed is not repeated. A model that is
	// missing is trained after CheckInterval. 0: no schedule.
	Every time.Duration
	// PSI is the population stability index of the most drifted feature above which a model is trained again. Values above 0.25 are
	// usually taken for a large shift. 0: drift trains nothing.
	PSI float64
	// Checks is how many consecutive checks must be above PSI. Default: 3.
	Checks int
	// Pause is the least time between two trainings for drift, whether they help or not. Default: 24 hours.
	Pause time.Duration
	// CheckInterval is how often models are checked. Default: 1 hour.
	CheckInterval time.Duration

	Clock func() time.Time // default: time.Now
	Log   *slog.Logger     // default: discards
}

// Retrainer trains models again when they are old or do not fit the data any more. At most one training runs: it waits for the end
// of any other.
type Retrainer struct {
	trainer Trainer
	o       RetrainOptions
	models  map[predictive.ModelType]*model
}

// model is what a Retrainer knows of a model. Times are of this process, except for version.
type model struct {
	known   bool      // since is set
	since   time.Time // of the last training or, if none is known, of the first check
	version int       // of the last check
	above   int       // consecutive checks above the limit
	drifted time.Time // the last training for drift
}

// NewRetrainer returns a retrainer, which works while [Retrainer.Run] does. trainer is required.
func NewRetrainer(trainer Trainer, o RetrainOptions) (*Retrainer, error) {
	if trainer == nil {
		return nil, fault.Option(pkg, "trainer", "is required")
	}
	o.Checks, o.Pause, o.CheckInterval = cmp.Or(o.Checks, 3), cmp.Or(o.Pause, 24*time.Hour), cmp.Or(o.CheckInterval, time.Hour)
	if len(o.Types) == 0 {
		o.Types = predictive.ModelTypes()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, check := range []struct {
		name string
		ok   bool
	}{{"Every", o.Every >= 0}, {"PSI", o.PSI >= 0}, {"Checks", o.Checks > 0}, {"Pause", o.Pause > 0}, {"CheckInterval", o.CheckInterval > 0}} {
		if !check.ok {
			return nil, fault.Option(pkg, "RetrainOptions."+check.name, "must not be negative")
		}
	}
	r := &Retrainer{trainer: trainer, o: o, models: make(map[predictive.ModelType]*model)}
	for _, t := range o.Types {
		if !slices.Contains(predictive.ModelTypes(), t) {
			return nil, fault.Option(pkg, "RetrainOptions.Types", "has %q, which is no model type", t)
		}
		r.models[t] = new(model)
	}
	return r, nil
}

// Run checks the models until ctx ends, and waits for the trainings that it starts, but no longer than ctx. It must be called once.
func (r *Retrainer) Run(ctx context.Context) {
	if r.o.Every == 0 && r.o.PSI == 0 {
		return
	}
	ticker := time.NewTicker(r.o.CheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, t := range r.o.Types {
			r.check(ctx, t)
		}
	}
}

// check trains a model if it must be.
func (r *Retrainer) check(ctx context.Context, t predictive.ModelType) {
	if running, err := r.running(ctx); err != nil || running {
		return // the next check comes
	}
	metrics, err := r.trainer.Metrics(ctx, t, 0)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, predictive.ErrModelNotFound) && !errors.Is(err, predictive.ErrModelNotAvailable) {
		r.o.Log.Warn("failed to check a model", "modelType", t, "error", err)
		return
	}
	now, m := r.o.Clock(), r.models[t]
	missing := err != nil && !m.known
	if err == nil && m.version != metrics.Version {
		m.version, m.above = metrics.Version, 0
		// A model from a time when the clock was ahead would not grow old for as long.
		if m.known = true; metrics.TrainedAt.After(m.since) && !metrics.TrainedAt.After(now) {
			m.since = metrics.TrainedAt
		} else if m.since.IsZero() {
			m.since = now
		}
	}
	age := now.Sub(m.since)
	if age < 0 { // the clock was set back
		m.since, age = now, 0
	}
	switch {
	case r.o.Every > 0 && (missing || age >= r.o.Every):
		r.train(ctx, t, m, "age", age.Round(time.Second))
	case err == nil && r.drifts(m, metrics, now):
		m.drifted = now
		r.train(ctx, t, m, "feature", metrics.Drift[0].Feature, "psi", metrics.Drift[0].PSI)
	}
}

// drifts counts a check and reports whether the model has drifted for long enough.
func (r *Retrainer) drifts(m *model, metrics predictive.Metrics, now time.Time) bool {
	if r.o.PSI == 0 || len(metrics.Drift) == 0 {
		return false
	}
	if metrics.Drift[0].PSI <= r.o.PSI {
		m.above = 0
		return false
	}
	m.above++
	return m.above >= r.o.Checks && (m.drifted.IsZero() || now.Sub(m.drifted).Abs() >= r.o.Pause)
}

func (r *Retrainer) train(ctx context.Context, t predictive.ModelType, m *model, why ...any) {
	r.o.Log.Info("training a model again", append([]any{"modelType", t}, why...)...)
	result, err := r.trainer.Retrain(ctx, t)
	m.known, m.since, m.above = true, r.o.Clock(), 0
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.o.Log.Warn("failed to train a model", "modelType", t, "error", err)
	default:
		r.o.Log.Info("model trained", "modelType", t, "version", predictive.FormatVersion(result.Version))
	}
}

// running reports whether a training runs.
func (r *Retrainer) running(ctx context.Context) (bool, error) {
	jobs, err := r.trainer.Jobs(ctx)
	return slices.ContainsFunc(jobs, func(j predictive.Job) bool { return j.State == predictive.JobRunning }), err
}
