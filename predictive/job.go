package predictive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
)

// JobState is the state of a [Job].
type JobState string

// The states of a job.
const (
	JobRunning   JobState = "Running"
	JobSucceeded JobState = "Succeeded"
	JobFailed    JobState = "Failed"
	JobCanceled  JobState = "Canceled"
)

// Job is a training as it was when it was asked for.
type Job struct {
	ID        string
	ModelType ModelType
	State     JobState
	// Progress is the share that is done, from 0 to 1, and Stage says what is done now.
	Progress  float64
	Stage     string
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
	// Training is the result of a job that has ended.
	Training *Training
	// Canceled reports whether somebody has asked to cancel it. It may still run for a moment.
	Canceled bool
	// Engine is that of [Options] of the service that trains; empty if it shares its trainings with no other.
	Engine string
}

// jobs are the trainings that run, at most one for each model type, and those that ended.
type jobs struct {
	mu      sync.Mutex
	list    []*job // the oldest first
	running map[ModelType]*job
	closed  bool
	wait    sync.WaitGroup
	// notify orders the calls of OnJob.
	notify sync.Mutex
	shared sharedJobs
}

type job struct {
	Job
	cancel  context.CancelFunc
	after   *job // the canceled one whose end this one waits for, or nil
	done    chan struct{}
	err     error
	changes int // counts changes
	stored  int // changes that the JobStore has
}

func (j *jobs) init() {
	j.running = make(map[ModelType]*job)
	j.shared.init()
}

func (j *jobs) close(ctx context.Context) error {
	j.mu.Lock()
	j.closed = true
	for _, running := range j.running {
		running.cancel()
	}
	j.mu.Unlock()
	done := make(chan struct{})
	go func() {
		j.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Retrain trains a model and waits for it. If a training of the type runs, Retrain waits for that one; after one that is being canceled, a new one
// begins. When ctx is done, Retrain returns and the training continues; see [Service.CancelJob]. If it fails, Retrain returns
// [ErrTrainingFailed] and a Training whose message tells why.
func (s *Service) Retrain(ctx context.Context, modelType ModelType) (Training, error) {
	j, other, err := s.begin(ctx, modelType)
	switch {
	case err != nil:
		return Training{ModelType: modelType}, err
	case j == nil:
		return s.await(ctx, other)
	}
	select {
	case <-j.done:
		return *j.Training, j.err
	case <-ctx.Done():
		return Training{ModelType: modelType}, ctx.Err()
	}
}

// StartTraining starts a training, unless one of the type runs, and returns its job. After one that is being canceled, the new one begins when that
// has ended.
func (s *Service) StartTraining(ctx context.Context, modelType ModelType) (Job, error) {
	j, other, err := s.begin(ctx, modelType)
	if err != nil || j == nil {
		return other, err
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	return j.Job, nil
}

// Job returns a job, or [ErrJobNotFound].
func (s *Service) Job(ctx context.Context, id string) (Job, error) {
	s.jobs.mu.Lock()
	j, err := s.jobs.find(id)
	var own Job
	if err == nil {
		own = j.Job
	}
	s.jobs.mu.Unlock()
	if err == nil || s.deps.Jobs == nil {
		return own, err
	}
	all, _, storeErr := s.deps.Jobs.Jobs(ctx, 0)
	if storeErr != nil {
		return Job{}, storeErr
	}
	for _, other := range all {
		if other.ID == id {
			return other, nil
		}
	}
	return Job{}, err
}

// Jobs returns the jobs that are remembered, the newest first.
func (s *Service) Jobs(ctx context.Context) ([]Job, error) {
	if s.deps.Jobs != nil {
		all, _, err := s.deps.Jobs.Jobs(ctx, 0)
		return s.withOwn(all), err
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	list := make([]Job, 0, len(s.jobs.list))
	for _, j := range slices.Backward(s.jobs.list) {
		list = append(list, j.Job)
	}
	return list, nil
}

// CancelJob cancels a job and returns it. It may still run for a moment: it has ended when its state says so. A job that has ended is not changed.
func (s *Service) CancelJob(ctx context.Context, id string) (Job, error) {
	s.jobs.mu.Lock()
	j, err := s.jobs.find(id)
	var own Job
	if err == nil {
		s.cancelOwn(j)
		own = j.Job
	}
	s.jobs.mu.Unlock()
	if err != nil && s.deps.Jobs != nil {
		return s.deps.Jobs.CancelJob(ctx, id)
	}
	return own, err
}

// cancelOwn cancels a job of this service. The caller holds the lock.
func (s *Service) cancelOwn(j *job) {
	if j.State != JobRunning || j.Canceled {
		return
	}
	j.Canceled = true
	j.changes++
	j.cancel()
	s.jobs.shared.wake.Set()
}

// find returns a job. The caller holds the lock.
func (j *jobs) find(id string) (*job, error) {
	for _, found := range j.list {
		if found.ID == id {
			return found, nil
		}
	}
	return nil, ErrJobNotFound.On("jobId", id)
}

// start returns the job of a type that runs, or a new one. A new one waits for the end of one that is canceled.
func (s *Service) start(modelType ModelType) (*job, error) {
	if !slices.Contains(ModelTypes(), modelType) {
		return nil, ErrModelType
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if running := s.jobs.running[modelType]; running != nil && !running.Canceled {
		return running, nil
	}
	return s.startNew(s.newJob(modelType))
}

func (s *Service) newJob(modelType ModelType) Job {
	return Job{ID: s.o.NewID(), ModelType: modelType, State: JobRunning, Stage: "starting", StartedAt: s.o.Clock(), Engine: s.o.Engine}
}

// startNew starts a job. The caller holds the lock.
func (s *Service) startNew(state Job) (*job, error) {
	if s.jobs.closed {
		return nil, ErrTrainingFailed.Because("the service is closed")
	}
	modelType := state.ModelType
	ctx, cancel := context.WithTimeout(context.Background(), s.o.TrainingTimeout)
	j := &job{Job: state, cancel: cancel, after: s.jobs.running[modelType], done: make(chan struct{})}
	s.jobs.running[modelType] = j
	s.jobs.list = append(s.jobs.list, j)
	for len(s.jobs.list) > s.o.MaxJobs { // a running job stays
		i := slices.IndexFunc(s.jobs.list, func(old *job) bool { return old.State != JobRunning })
		if i < 0 {
			break
		}
		s.jobs.list = slices.Delete(s.jobs.list, i, i+1)
	}
	s.jobs.wait.Go(func() {
		defer cancel()
		s.run(ctx, j)
	})
	return j, nil
}

// run trains and ends the job.
func (s *Service) run(ctx context.Context, j *job) {
	s.report(j)
	if j.after != nil {
		<-j.after.done
		j.after = nil
	}
	result, err := s.makeModel(ctx, j)
	s.jobs.mu.Lock()
	j.EndedAt, j.Training, j.State = s.o.Clock(), &result, JobSucceeded
	switch {
	case err == nil:
		j.Progress = 1
	case errors.Is(ctx.Err(), context.Canceled):
		j.State, j.err = JobCanceled, ErrTrainingFailed.Because("the training was canceled").Wrap(err)
	case ctx.Err() != nil:
		j.State, j.err = JobFailed, ErrTrainingFailed.Because("the training took longer than %s", s.o.TrainingTimeout).Wrap(err)
	case isMissingData(err):
		j.State, j.err = JobFailed, ErrTrainingFailed.Because("%s", missingData(err))
	case errors.Is(err, ErrTrainingFailed):
		j.State, j.err = JobFailed, err
	default:
		j.State, j.err = JobFailed, ErrTrainingFailed.Because("internal error").Wrap(err)
	}
	if j.err != nil {
		result.Message = messageOf(j.err)
	}
	j.Stage = "ended"
	j.changes++
	if s.jobs.running[j.ModelType] == j {
		delete(s.jobs.running, j.ModelType)
	}
	s.jobs.mu.Unlock()
	if err != nil {
		s.o.Log.Warn("training failed", "modelType", j.ModelType, "err", err)
	}
	close(j.done)
	s.jobs.shared.wake.Set()
	s.report(j)
}

// makeModel trains a model and puts it into the registry. A panic is an error: a training reads whatever the plant has.
func (s *Service) makeModel(ctx context.Context, j *job) (result Training, err error) {
	result.ModelType = j.ModelType
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("predictive: training panicked: %v\n%s", p, debug.Stack())
		}
	}()
	parent, old, err := s.deps.Registry.Get(ctx, j.ModelType, 0)
	// A new model is what repairs a registry in which all are damaged.
	if err != nil && !errors.Is(err, ErrModelNotFound) && !errors.Is(err, ErrModelNotAvailable) {
		return result, ErrTrainingFailed.Because("the model before cannot be read").Wrap(err)
	}
	var r *rival
	if s.o.PromoteIfBetter && err == nil {
		r = newRival(parent, old, s.o.Horizon)
	}
	b, meta, err := s.train(ctx, j.ModelType, r, func(done float64, stage string) { s.progress(j, done, stage) })
	if err != nil {
		return result, err
	}
	s.progress(j, 0.99, "storing the model")
	data, err := b.encode()
	if err != nil {
		return result, err
	}
	meta.TrainedAt = s.o.Clock()
	meta.Parent, meta.Default = parent.Version, !r.wins(j.ModelType)
	version, err := s.deps.Registry.Put(ctx, meta, data)
	if err != nil {
		return result, ErrTrainingFailed.Because("the model cannot be stored%s", whyNotStored(err)).Wrap(err)
	}
	s.refresh(j.ModelType)
	m := meta.Metrics
	result = Training{Success: true, ModelType: j.ModelType, Version: version, TrainedAt: meta.TrainedAt, TrainingSamples: meta.Samples,
		Accuracy: m.Accuracy, Precision: m.Precision, Recall: m.Recall, F1Score: m.F1Score,
		Message: fmt.Sprintf("trained with %d lives of %d equipments, judged by %d lives", meta.Lives, meta.Units, m.TestLives)}
	if !meta.Default {
		result.Message += fmt.Sprintf("; %s stays the default, because it is not worse", FormatVersion(parent.Version))
	}
	if j.ModelType == RULModel && !m.tellsHorizon(meta.Horizon) {
		s.o.Log.Warn("the horizon is longer than the lives: precision, recall and F1 score of remaining lives tell nothing", "horizon", meta.Horizon)
		result.Message += fmt.Sprintf("; precision, recall and F1 score tell nothing, because the horizon of %g hours is longer than the lives", meta.Horizon.Hours())
	}
	return result, nil
}

// tellsHorizon reports whether a model of remaining lives can tell those within the horizon from longer ones.
func (m Metrics) tellsHorizon(horizon time.Duration) bool {
	c := m.ConfusionMatrix
	return c.TrueNegative+c.FalsePositive > 0 && (m.CapDays == nil || *m.CapDays*24 > horizon.Hours())
}

// whyNotStored returns what callers may know of an error of a registry, which may name files: what its operator can mend.
func whyNotStored(err error) string {
	const windowsDiskFull = syscall.Errno(112)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull):
		return ": the disk of the models is full"
	case errors.Is(err, syscall.EROFS):
		return ": the disk of the models is read-only"
	case errors.Is(err, fs.ErrPermission):
		return ": their directory may not be written"
	}
	return ""
}

// progressStep is the least progress that is reported.
const progressStep = 0.01

func (s *Service) progress(j *job, done float64, stage string) {
	s.jobs.mu.Lock()
	done = min(max(done, j.Progress), 0.99)
	changed := stage != j.Stage || done >= j.Progress+progressStep
	if changed {
		j.Progress, j.Stage = done, stage
		j.changes++
	}
	s.jobs.mu.Unlock()
	if changed {
		s.report(j)
	}
}

// report calls OnJob.
func (s *Service) report(j *job) {
	if s.o.OnJob == nil {
		return
	}
	s.jobs.notify.Lock()
	defer s.jobs.notify.Unlock()
	s.jobs.mu.Lock()
	state := j.Job
	s.jobs.mu.Unlock()
	s.o.OnJob(state)
}
