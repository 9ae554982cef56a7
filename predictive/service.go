package predictive

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive/features"
)

// Options are the dependencies and settings of a [Service].
type Options struct {
	History   History      // required
	Inventory Inventory    // required
	Records   RecordReader // required
	Registry  Registry     // required
	Downtime  Downtime     // default: none

	// Components are those of an equipment without records. Default: [DefaultComponents].
	Components []string
	// Horizon is how far ahead a failure is predicted. Default: 7 days.
	Horizon time.Duration
	// Lookback is how much history is used. Default: 2 years.
	Lookback time.Duration
	// Features changes the features. A zero Step is chosen from the data: a 200th of the median life, from a minute to a day.
	Features features.Options
	// MaxRows bounds the rows of a training, and so its memory. Default: 50,000.
	MaxRows int
	// MaxModels bounds the models of tags, or components, in a bundle. Default: 200.
	MaxModels int
	// MaxLife is the longest remaining life that is predicted. Default: 60% of the median life of the training.
	MaxLife time.Duration
	// MinFailures is how many failures a model takes, 3 or more; a remaining life is told from half as many, but at least 3. Default: 10.
	MinFailures int
	// Seed makes trainings repeatable.
	Seed uint64
	// PromoteIfBetter keeps the default model unless the new one is better, by F1 score or RMSE.
	PromoteIfBetter bool
	// TrainingTimeout bounds a training. Default: 1 hour.
	TrainingTimeout time.Duration
	// MaxJobs is how many jobs are remembered. Default: 100.
	MaxJobs int
	// OnJob, unless nil, is called with each change of a job. It must not block.
	OnJob func(Job)

	// AnomalySamples is how many samples an anomaly call learns from. Default: 5000.
	AnomalySamples int
	// AnomalyLookback is how old they may be. Default: 30 days.
	AnomalyLookback time.Duration
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
	o Options
}

// New returns a service.
func New(o Options) (*Service, error) {
	return &Service{o: o}, nil
}

// Close cancels what runs and waits for it.
func (s *Service) Close(ctx context.Context) error { return nil }

var errTodo = fault.New(fault.Internal, "TODO", "not implemented")

// FailurePrediction returns the probability that an equipment fails within the horizon, from the newest window of one of its
// tags.
func (s *Service) FailurePrediction(ctx context.Context, equipment, tag string) (FailurePrediction, error) {
	return FailurePrediction{}, errTodo
}

// RUL returns the remaining useful life of a component.
func (s *Service) RUL(ctx context.Context, equipment, component string) (RUL, error) {
	return RUL{}, errTodo
}

// Anomaly judges the newest sample of a tag by those before it. It changes nothing.
func (s *Service) Anomaly(ctx context.Context, tag string) (Anomaly, error) {
	return Anomaly{}, errTodo
}

// Multivariate judges the newest values of 2 to 64 tags by how they moved together before. It changes nothing.
func (s *Service) Multivariate(ctx context.Context, tags []string) (Multivariate, error) {
	return Multivariate{}, errTodo
}

// Retrain trains a model and waits for it. If a training of the type runs, Retrain waits for that one. When ctx is done, the training goes
// on; see [Service.CancelJob].
func (s *Service) Retrain(ctx context.Context, modelType ModelType) (Training, error) {
	return Training{}, errTodo
}

// StartTraining starts a training, unless one of the type runs, and returns its job.
func (s *Service) StartTraining(ctx context.Context, modelType ModelType) (Job, error) {
	return Job{}, errTodo
}

// Job returns a job, or [ErrJobNotFound].
func (s *Service) Job(ctx context.Context, id string) (Job, error) { return Job{}, errTodo }

// Jobs returns the jobs that are remembered, the newest first.
func (s *Service) Jobs(ctx context.Context) ([]Job, error) { return nil, errTodo }

// CancelJob cancels a job that runs and returns it. It has ended when its state says so. A job that has ended is not changed.
func (s *Service) CancelJob(ctx context.Context, id string) (Job, error) { return Job{}, errTodo }

// Metrics returns the quality of a model; version 0 is the default one. Without such a model it returns [ErrModelNotFound].
func (s *Service) Metrics(ctx context.Context, modelType ModelType, version int) (Metrics, error) {
	return Metrics{}, errTodo
}

// Equipments returns the ids of all equipments in alphabetical order.
func (s *Service) Equipments(ctx context.Context) ([]string, error) { return nil, errTodo }

// Tags returns the ids of the tags of an equipment in alphabetical order, none for an unknown one.
func (s *Service) Tags(ctx context.Context, equipment string) ([]string, error) { return nil, errTodo }

// Components returns the components that the replacements and failures of an equipment name, in alphabetical order, and the default ones
// if they name none.
func (s *Service) Components(ctx context.Context, equipment string) ([]string, error) {
	return nil, errTodo
}

// Export writes the rows that a training would use as CSV; see [features.Dataset.WriteCSV]. Those of a failure model have the features of
// one tag, whose unit is equipment/tag and whose label is the hours to the next failure; those of an RUL model have the unit
// equipment/component and the remaining hours.
func (s *Service) Export(ctx context.Context, modelType ModelType, w io.Writer) error { return errTodo }
