package predictive

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pair is two services over one registry and one store of trainings, "a" and "b". Those of a wait until open. It is for use within a bubble.
type pair struct {
	a, b  *Service
	open  func()
	jobs  *MemoryJobs
	alive func(...string)
	other struct { // what b has heard of the jobs of a
		sync.Mutex
		states []JobState
	}
}

func newPair(t *testing.T) *pair {
	p := &pair{jobs: new(MemoryJobs)}
	g := newGate(newFleet(t, smallFleet))
	p.open = sync.OnceFunc(func() { close(g.open) })
	models := new(MemoryRegistry)
	var mu sync.Mutex
	alive := []string{"a", "b"}
	p.alive = func(list ...string) {
		mu.Lock()
		defer mu.Unlock()
		alive = list
	}
	service := func(engine string, h History) *Service {
		s := newService(t, g.plant, func(d *Deps, o *Options) {
			d.History, d.Registry, d.Jobs, o.Engine = h, models, p.jobs, engine
			o.Alive = func() []string {
				mu.Lock()
				defer mu.Unlock()
				return alive
			}
			o.OnOtherJob = func(j Job) {
				if engine == "b" {
					p.other.Lock()
					defer p.other.Unlock()
					p.other.states = append(p.other.states, j.State)
				}
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Follow(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		return s
	}
	p.a, p.b = service("a", g), service("b", g.plant)
	return p
}

func TestATrainingRunsOnceForAllServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		defer p.open()
		_, _, err := p.b.model(t.Context(), RULModel)
		require.ErrorIs(t, err, ErrModelNotAvailable)
		started, err := p.a.StartTraining(t.Context(), RULModel)
		require.NoError(t, err)
		same, err := p.b.StartTraining(t.Context(), RULModel)
		require.NoError(t, err)
		require.Equal(t, started.ID, same.ID)
		require.Equal(t, "a", same.Engine)
		results := make(chan Training, 1)
		go func() {
			r, err := p.b.Retrain(t.Context(), RULModel)
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
		time.Sleep(5 * time.Second)
		for _, s := range []*Service{p.a, p.b} {
			list, err := s.Jobs(t.Context())
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, JobRunning, list[0].State)
		}
		p.open()
		began := time.Now()
		r := <-results
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
		require.True(t, r.Success)
		require.Equal(t, 1, r.Version)
		j, err := p.b.Job(t.Context(), started.ID)
		require.NoError(t, err)
		require.Equal(t, JobSucceeded, j.State)
		_, meta, err := p.b.model(t.Context(), RULModel)
		require.NoError(t, err, "although it has looked for a model a moment ago")
		require.Equal(t, 1, meta.Version)
		p.other.Lock()
		defer p.other.Unlock()
		require.Equal(t, JobRunning, p.other.states[0])
		require.Equal(t, JobSucceeded, p.other.states[len(p.other.states)-1])
	})
}

func TestATrainingIsCanceledFromAnotherService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		defer p.open()
		j, err := p.a.StartTraining(t.Context(), RULModel)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		canceled, err := p.b.CancelJob(t.Context(), j.ID)
		require.NoError(t, err)
		require.True(t, canceled.Canceled)
		own, err := p.b.Retrain(t.Context(), RULModel)
		require.NoError(t, err)
		require.Equal(t, 1, own.Version, "the one that is canceled is not waited for")
		time.Sleep(3 * time.Second)
		for _, s := range []*Service{p.a, p.b} {
			j, err := s.Job(t.Context(), j.ID)
			require.NoError(t, err)
			require.Equal(t, JobCanceled, j.State)
		}
		j, err = p.a.StartTraining(t.Context(), RULModel)
		require.NoError(t, err)
		_, err = p.a.CancelJob(t.Context(), j.ID)
		require.NoError(t, err)
		next, err := p.a.StartTraining(t.Context(), RULModel)
		require.NoError(t, err)
		require.NotEqual(t, j.ID, next.ID, "a new one begins after one that is canceled")
	})
}

func TestATrainingOfAnEngineThatIsGoneHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		defer p.open()
		j := Job{ID: "1", ModelType: RULModel, State: JobRunning, StartedAt: time.Now(), Engine: "killed"}
		_, _, err := p.jobs.BeginJob(t.Context(), j, 10)
		require.NoError(t, err)
		began := time.Now()
		p.alive() // nobody knows which engines run
		failed := make(chan error, 1)
		go func() {
			_, err := p.b.Retrain(t.Context(), RULModel)
			failed <- err
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, failed)
		p.alive("a", "b")
		err = <-failed
		require.ErrorIs(t, err, ErrTrainingFailed)
		require.ErrorContains(t, err, "engine has ended")
		require.Less(t, time.Since(began), time.Minute+15*time.Second)
		r, err := p.b.Retrain(t.Context(), RULModel)
		require.NoError(t, err)
		require.True(t, r.Success)
	})
}

func TestATrainingOfAnEarlierProcessHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := new(MemoryJobs)
		left := Job{ID: "1", ModelType: RULModel, State: JobRunning, StartedAt: time.Now(), Engine: "a"}
		_, _, err := jobs.BeginJob(t.Context(), left, 10)
		require.NoError(t, err)
		s := newService(t, newFleet(t, smallFleet), func(d *Deps, o *Options) { d.Jobs, o.Engine = jobs, "a" })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Follow(ctx) }()
		defer func() { cancel(); <-done }()
		synctest.Wait()
		j, err := s.Job(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, JobFailed, j.State)
		require.Contains(t, j.Training.Message, "engine has ended")
	})
}

func TestTrainingsThatAServiceCancelsAtItsEndAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		defer p.open()
		j, err := p.a.StartTraining(t.Context(), RULModel)
		require.NoError(t, err)
		require.NoError(t, p.a.Close(t.Context()))
		got, err := p.b.Job(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, JobCanceled, got.State)
		_, err = p.a.StartTraining(t.Context(), RULModel)
		require.ErrorIs(t, err, ErrTrainingFailed)
		list, err := p.b.Jobs(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
	})
}
