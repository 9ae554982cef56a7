package predictive

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gate is a history that waits until it is opened, or until its caller gives up.
type gate struct {
	*plant
	entered chan struct{}
	once    sync.Once
	open    chan struct{}
}

func newGate(p *plant) *gate {
	return &gate{plant: p, entered: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		g.once.Do(func() { close(g.entered) })
		select {
		case <-g.open:
			g.plant.Samples(ctx, tag, from, to)(yield)
		case <-ctx.Done():
			yield(Sample{}, ctx.Err())
		}
	}
}

var smallFleet = fleetOptions{pumps: 4, lives: 3, sensors: 3, component: "Bearing"}

func TestTrainingsAreShared(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(d *Deps, _ *Options) { d.History = g })
	const callers = 50
	results := make(chan Training, callers)
	var ready sync.WaitGroup
	for range callers {
		ready.Add(1)
		go func() {
			j, err := s.StartTraining(t.Context(), RULModel)
			if err != nil || j.State != JobRunning {
				t.Errorf("job %v: %v", j, err)
			}
			ready.Done()
			r, err := s.Retrain(t.Context(), RULModel)
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	ready.Wait()
	list, err := s.Jobs(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	close(g.open)
	require.Equal(t, 1, (<-results).Version)
	for range callers - 1 {
		<-results // those that asked after the end have a training of their own
	}
	metas, err := s.deps.Registry.List(t.Context(), RULModel)
	require.NoError(t, err)
	list, err = s.Jobs(t.Context())
	require.NoError(t, err)
	require.Len(t, list, len(metas))
}

func TestJobIsCanceled(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(d *Deps, _ *Options) { d.History = g })
	running, err := s.start(FailureModel)
	require.NoError(t, err)
	<-g.entered
	_, err = s.CancelJob(t.Context(), running.ID)
	require.NoError(t, err)
	<-running.done
	require.ErrorIs(t, running.err, ErrTrainingFailed)
	j, err := s.Job(t.Context(), running.ID)
	require.NoError(t, err)
	require.Equal(t, JobCanceled, j.State)
	require.Contains(t, j.Training.Message, "canceled")
	require.False(t, j.EndedAt.IsZero())
	_, err = s.CancelJob(t.Context(), "x")
	require.ErrorIs(t, err, ErrJobNotFound)
	_, err = s.Job(t.Context(), "x")
	require.ErrorIs(t, err, ErrJobNotFound)
}

// stubborn is a history whose first caller goes on for a while when it is canceled.
type stubborn struct {
	*plant
	entered, open chan struct{}
	once          sync.Once
}

func (d *stubborn) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		d.once.Do(func() {
			close(d.entered)
			<-d.open
		})
		d.plant.Samples(ctx, tag, from, to)(yield)
	}
}

func TestTrainingAfterACanceledOneIsANewOne(t *testing.T) {
	d := &stubborn{plant: newFleet(t, smallFleet), entered: make(chan struct{}), open: make(chan struct{})}
	s := newService(t, d.plant, func(deps *Deps, _ *Options) { deps.History = d })
	goOn := sync.OnceFunc(func() { close(d.open) })
	t.Cleanup(goOn)
	canceled, err := s.StartTraining(t.Context(), RULModel)
	require.NoError(t, err)
	<-d.entered
	_, err = s.CancelJob(t.Context(), canceled.ID)
	require.NoError(t, err)
	next, err := s.StartTraining(t.Context(), RULModel)
	require.NoError(t, err)
	require.NotEqual(t, canceled.ID, next.ID)
	again, err := s.StartTraining(t.Context(), RULModel)
	require.NoError(t, err)
	require.Equal(t, next.ID, again.ID, "it is shared")
	goOn()
	r, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	require.Equal(t, 1, r.Version)
	canceled, err = s.Job(t.Context(), canceled.ID)
	require.NoError(t, err)
	require.Equal(t, JobCanceled, canceled.State)
	next, err = s.Job(t.Context(), next.ID)
	require.NoError(t, err)
	require.Equal(t, JobSucceeded, next.State)
	require.False(t, next.Training.TrainedAt.Before(canceled.EndedAt), "not at the same time")
}

func TestCallerThatLeavesDoesNotEndTheTraining(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(d *Deps, _ *Options) { d.History = g })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Retrain(ctx, RULModel)
	require.ErrorIs(t, err, context.Canceled)
	close(g.open)
	r, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	require.Equal(t, 1, r.Version)
}

func TestCloseEndsTrainings(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(d *Deps, _ *Options) { d.History = g })
	j, err := s.StartTraining(t.Context(), RULModel)
	require.NoError(t, err)
	<-g.entered
	require.NoError(t, s.Close(t.Context()))
	j, err = s.Job(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, JobCanceled, j.State)
	_, err = s.Retrain(t.Context(), RULModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
}

func TestTrainingTakesNoLongerThanAllowed(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(d *Deps, o *Options) { d.History, o.TrainingTimeout = g, time.Millisecond })
	r, err := s.Retrain(t.Context(), RULModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
	require.Contains(t, r.Message, "longer than 1ms")
}

func TestProgress(t *testing.T) {
	var seen []Job
	s := newService(t, newFleet(t, smallFleet), func(_ *Deps, o *Options) { o.OnJob = func(j Job) { seen = append(seen, j) } })
	_, err := s.Retrain(t.Context(), FailureModel)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context())) // which waits for the last call
	require.Greater(t, len(seen), 10)
	require.Zero(t, seen[0].Progress)
	for i, j := range seen[1:] {
		require.GreaterOrEqual(t, j.Progress, seen[i].Progress)
		require.LessOrEqual(t, j.Progress, 1.)
	}
	last := seen[len(seen)-1]
	require.Equal(t, JobSucceeded, last.State)
	require.InDelta(t, 1., last.Progress, 0)
	require.True(t, last.Training.Success)
}

func TestJobsAreForgotten(t *testing.T) {
	s := newService(t, newPlant(), func(_ *Deps, o *Options) { o.MaxJobs = 3 })
	for range 10 {
		_, err := s.Retrain(t.Context(), RULModel)
		require.ErrorIs(t, err, ErrTrainingFailed)
	}
	list, err := s.Jobs(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 3)
}

type panicking struct{ *plant }

func (panicking) Equipments(context.Context) ([]string, error) { panic("bug") }

func TestPanicFailsTheTrainingOnly(t *testing.T) {
	p := newPlant()
	s := newService(t, p, func(d *Deps, _ *Options) { d.Inventory = panicking{p} })
	r, err := s.Retrain(t.Context(), RULModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
	require.NotContains(t, r.Message, "bug")
}

func TestPredictionsWhileTraining(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	_, err = s.StartTraining(t.Context(), RULModel)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 20 {
				if _, err := s.RUL(t.Context(), "pump01", "Bearing"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	r, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Version, 2)
}
