package predictive

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/internal/wake"
)

// JobStore has the trainings of services that share a [Registry], such as those of the engines of a plant. Safe for concurrent use, by several
// processes too. Package predictivetest has a conformance suite.
type JobStore interface {
	// BeginJob adds a job, which runs. If another one of its model type runs and is not canceled, BeginJob adds nothing and returns that one. Of the
	// jobs that have ended, the oldest are removed until there are no more than keep in all.
	BeginJob(ctx context.Context, j Job, keep int) (running Job, begun bool, err error)
	// UpdateJob stores what has become of a job. It may be unknown by now. A job that has ended stays as it is, unless j has succeeded. Once it is
	// Canceled it remains so.
	UpdateJob(ctx context.Context, j Job) error
	// CancelJob sets Canceled of a job that runs, and returns the job, or [ErrJobNotFound].
	CancelJob(ctx context.Context, id string) (Job, error)
	// Jobs returns the jobs that have changed after a position, all for 0, those that began last first, and the next position. Finding none must be cheap.
	Jobs(ctx context.Context, after int64) (list []Job, next int64, err error)
}

// sharedJobs is what a service knows of the trainings of others.
type sharedJobs struct {
	beginning sync.Mutex // held while a job is added to the store and to those of the service
	wake      wake.Signal

	// Of Follow.
	position int64
	first    bool
	gone     map[string]time.Time // engines that do not run, by when that was seen

	mu      sync.Mutex
	others  map[string]Job // by id
	changed chan struct{}  // closed by the next change of others
}

func (h *sharedJobs) init() {
	h.wake, h.first = wake.NewSignal(), true
	h.gone, h.others, h.changed = make(map[string]time.Time), make(map[string]Job), make(chan struct{})
}

// begin returns the job of a type that this service runs, or the one of another service, or begins one.
func (s *Service) begin(ctx context.Context, modelType ModelType) (own *job, other Job, err error) {
	if s.deps.Jobs == nil || !slices.Contains(ModelTypes(), modelType) {
		own, err = s.start(modelType)
		return own, other, err
	}
	s.jobs.shared.beginning.Lock()
	defer s.jobs.shared.beginning.Unlock()
	s.jobs.mu.Lock()
	own = s.jobs.running[modelType]
	closed, canceled := s.jobs.closed, own != nil && own.Canceled
	s.jobs.mu.Unlock()
	switch {
	case own != nil && !canceled:
		return own, other, nil
	case closed:
		return nil, other, ErrTrainingFailed.Because("the service is closed")
	case canceled:
		if err := s.storeJobs(ctx); err != nil {
			return nil, other, err
		}
	}
	state := s.newJob(modelType)
	other, begun, err := s.deps.Jobs.BeginJob(ctx, state, s.o.MaxJobs)
	if err != nil || !begun {
		return nil, other, err
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	own, err = s.startNew(state)
	return own, Job{}, err
}

// withOwn puts the jobs of this service, as they are now, in the place of what the store has of them.
func (s *Service) withOwn(list []Job) []Job {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	for i := range list {
		if own, err := s.jobs.find(list[i].ID); err == nil {
			list[i] = own.Job
		}
	}
	return list
}

// awaitLook is how often a training of another service is looked for in the store, in case Follow does not run.
const awaitLook = 10 * time.Second

// await waits for a training of another service.
func (s *Service) await(ctx context.Context, j Job) (Training, error) {
	for j.State == JobRunning {
		s.jobs.shared.mu.Lock()
		changed := s.jobs.shared.changed
		known, ok := s.jobs.shared.others[j.ID]
		s.jobs.shared.mu.Unlock()
		if ok && known.State != JobRunning {
			j = known
			break
		}
		timer := time.NewTimer(awaitLook)
		select {
		case <-changed:
			timer.Stop()
			continue
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Training{ModelType: j.ModelType}, ctx.Err()
		}
		found, err := s.Job(ctx, j.ID)
		if err != nil {
			return Training{ModelType: j.ModelType}, err
		}
		j = found
	}
	result := Training{ModelType: j.ModelType}
	if j.Training != nil {
		result = *j.Training
	}
	if j.State != JobSucceeded {
		return result, ErrTrainingFailed.Because("%s", strings.TrimPrefix(result.Message, ErrTrainingFailed.Message+": "))
	}
	return result, nil
}

const (
	followInterval = time.Second
	// giveUpAfter is how long an engine must be gone before its trainings count as failed.
	giveUpAfter = 10 * time.Second
)

// Follow tells the other services of Deps.Jobs of the trainings of this one, and this one of theirs, until ctx ends: models that they make serve at once.
// Call it once.
func (s *Service) Follow(ctx context.Context) {
	if s.deps.Jobs == nil {
		return
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	failing := false
	for {
		err := s.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.o.Log.Warn("failed to follow the trainings of other engines; retrying", "err", err)
		case err == nil && failing:
			s.o.Log.Info("the trainings of other engines are followed again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.jobs.shared.wake.C():
		}
	}
}

func (s *Service) follow(ctx context.Context) error {
	if err := s.storeJobs(ctx); err != nil {
		return err
	}
	h := &s.jobs.shared
	h.beginning.Lock()
	list, next, err := s.deps.Jobs.Jobs(ctx, h.position)
	if err == nil && h.first {
		err = s.endEarlier(ctx, list)
	}
	h.beginning.Unlock()
	if err != nil {
		return err
	}
	for _, j := range slices.Backward(list) {
		s.take(j)
	}
	h.position, h.first = next, false
	return s.giveUp(ctx)
}

// storeJobs stores what has changed of the jobs of this service.
func (s *Service) storeJobs(ctx context.Context) error {
	type change struct {
		j       *job
		state   Job
		changes int
	}
	var changed []change
	s.jobs.mu.Lock()
	for _, j := range s.jobs.list {
		if j.stored < j.changes {
			changed = append(changed, change{j, j.Job, j.changes})
		}
	}
	s.jobs.mu.Unlock()
	for _, c := range changed {
		if err := s.deps.Jobs.UpdateJob(ctx, c.state); err != nil {
			return err
		}
		s.jobs.mu.Lock()
		c.j.stored = c.changes
		s.jobs.mu.Unlock()
	}
	return nil
}

// endEarlier ends what an earlier process of this engine has left.
func (s *Service) endEarlier(ctx context.Context, list []Job) error {
	for _, j := range list {
		s.jobs.mu.Lock()
		_, unknown := s.jobs.find(j.ID)
		s.jobs.mu.Unlock()
		if j.State == JobRunning && j.Engine == s.o.Engine && unknown != nil {
			if err := s.deps.Jobs.UpdateJob(ctx, s.lost(j)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lost returns a job whose engine has ended.
func (s *Service) lost(j Job) Job {
	j.State, j.Stage, j.EndedAt = JobFailed, "ended", s.o.Clock()
	j.Training = &Training{ModelType: j.ModelType, Message: ErrTrainingFailed.Because("its engine has ended").Message}
	return j
}

// take takes over a change of a job.
func (s *Service) take(j Job) {
	s.jobs.mu.Lock()
	own, err := s.jobs.find(j.ID)
	if err == nil && j.Canceled {
		s.cancelOwn(own)
	}
	s.jobs.mu.Unlock()
	if err == nil {
		return
	}
	h := &s.jobs.shared
	h.mu.Lock()
	was := h.others[j.ID]
	h.others[j.ID] = j
	for len(h.others) > 2*s.o.MaxJobs {
		oldest := slices.MinFunc(slices.Collect(maps.Values(h.others)), func(a, b Job) int { return a.StartedAt.Compare(b.StartedAt) })
		delete(h.others, oldest.ID)
	}
	close(h.changed)
	h.changed = make(chan struct{})
	h.mu.Unlock()
	if j.State == JobSucceeded && was.State != JobSucceeded {
		s.refresh(j.ModelType)
	}
	if s.o.OnOtherJob != nil {
		s.o.OnOtherJob(j)
	}
}

// giveUp ends the trainings of engines that do not run any more.
func (s *Service) giveUp(ctx context.Context) error {
	if s.o.Alive == nil {
		return nil
	}
	alive := s.o.Alive()
	if !slices.Contains(alive, s.o.Engine) {
		return nil // who runs is not known
	}
	h := &s.jobs.shared
	var left []Job
	h.mu.Lock()
	for _, j := range h.others {
		if j.State == JobRunning && !slices.Contains(alive, j.Engine) {
			left = append(left, j)
		}
	}
	h.mu.Unlock()
	now, gone := time.Now(), make(map[string]time.Time)
	for _, j := range left {
		since, known := h.gone[j.Engine]
		if !known {
			since = now
		}
		if gone[j.Engine] = since; now.Sub(since) < giveUpAfter {
			continue
		}
		if err := s.deps.Jobs.UpdateJob(ctx, s.lost(j)); err != nil {
			return err
		}
	}
	h.gone = gone
	return nil
}
