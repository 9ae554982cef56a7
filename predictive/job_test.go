package predictive

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	s := newService(t, g.plant, func(o *Options) { o.History = g })
	const callers = 50
	results := make(chan Training, callers)
	var ready sync.WaitGroup
	for range callers {
		ready.Add(1)
		go func() {
			j, err := s.StartTraining(t.Context(), RULModel)
			assert.NoError(t, err)
			assert.Equal(t, JobRunning, j.State)
			ready.Done()
			r, err := s.Retrain(t.Context(), RULModel)
			assert.NoError(t, err)
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
	metas, err := s.o.Registry.List(t.Context(), RULModel)
	require.NoError(t, err)
	list, err = s.Jobs(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, len(metas))
}

func TestJobIsCanceled(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(o *Options) { o.History = g })
	running, err := s.start(FailureModel)
	require.NoError(t, err)
	<-g.entered
	_, err = s.CancelJob(t.Context(), running.ID)
	require.NoError(t, err)
	<-running.done
	assert.ErrorIs(t, running.err, ErrTrainingFailed)
	j, err := s.Job(t.Context(), running.ID)
	require.NoError(t, err)
	assert.Equal(t, JobCanceled, j.State)
	assert.Contains(t, j.Training.Message, "canceled")
	assert.False(t, j.EndedAt.IsZero())
	_, err = s.CancelJob(t.Context(), "x")
	assert.ErrorIs(t, err, ErrJobNotFound)
	_, err = s.Job(t.Context(), "x")
	assert.ErrorIs(t, err, ErrJobNotFound)
}

func TestCallerThatLeavesDoesNotEndTheTraining(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(o *Options) { o.History = g })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Retrain(ctx, RULModel)
	require.ErrorIs(t, err, context.Canceled)
	close(g.open)
	r, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Version)
}

func TestCloseEndsTrainings(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(o *Options) { o.History = g })
	j, err := s.StartTraining(t.Context(), RULModel)
	require.NoError(t, err)
	<-g.entered
	require.NoError(t, s.Close(t.Context()))
	j, err = s.Job(t.Context(), j.ID)
	require.NoError(t, err)
	assert.Equal(t, JobCanceled, j.State)
	_, err = s.Retrain(t.Context(), RULModel)
	assert.ErrorIs(t, err, ErrTrainingFailed)
}

func TestTrainingTakesNoLongerThanAllowed(t *testing.T) {
	g := newGate(newFleet(t, smallFleet))
	s := newService(t, g.plant, func(o *Options) { o.History, o.TrainingTimeout = g, time.Millisecond })
	r, err := s.Retrain(t.Context(), RULModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
	assert.Contains(t, r.Message, "longer than 1ms")
}

func TestProgress(t *testing.T) {
	var seen []Job
	s := newService(t, newFleet(t, smallFleet), func(o *Options) { o.OnJob = func(j Job) { seen = append(seen, j) } })
	_, err := s.Retrain(t.Context(), FailureModel)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context())) // which waits for the last call
	require.Greater(t, len(seen), 10)
	assert.Zero(t, seen[0].Progress)
	for i, j := range seen[1:] {
		assert.GreaterOrEqual(t, j.Progress, seen[i].Progress)
		assert.LessOrEqual(t, j.Progress, 1.)
	}
	last := seen[len(seen)-1]
	assert.Equal(t, JobSucceeded, last.State)
	assert.Equal(t, 1., last.Progress)
	assert.True(t, last.Training.Success)
}

func TestJobsAreForgotten(t *testing.T) {
	s := newService(t, newPlant(), func(o *Options) { o.MaxJobs = 3 })
	for range 10 {
		_, err := s.Retrain(t.Context(), RULModel)
		require.ErrorIs(t, err, ErrTrainingFailed)
	}
	list, err := s.Jobs(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 3)
}

type panicking struct{ *plant }

func (panicking) Equipments(context.Context) ([]string, error) { panic("bug") }

func TestPanicFailsTheTrainingOnly(t *testing.T) {
	p := newPlant()
	s := newService(t, p, func(o *Options) { o.Inventory = panicking{p} })
	r, err := s.Retrain(t.Context(), RULModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
	assert.NotContains(t, r.Message, "bug")
}
