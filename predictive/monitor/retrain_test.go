package monitor_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
)

// school trains models in no time. The zero value has no model.
type school struct {
	mu       sync.Mutex
	models   map[predictive.ModelType]predictive.Metrics
	psi      float64
	busy     bool
	fails    error
	hangs    bool
	trained  []predictive.ModelType
	clockOff time.Duration
}

func (s *school) Retrain(ctx context.Context, t predictive.ModelType) (predictive.Training, error) {
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return predictive.Training{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trained = append(s.trained, t)
	if s.fails == nil {
		s.put(t, s.models[t].Version+1, s.now())
	}
	return predictive.Training{Version: s.models[t].Version}, s.fails
}

func (s *school) put(t predictive.ModelType, version int, at time.Time) {
	if s.models == nil {
		s.models = map[predictive.ModelType]predictive.Metrics{}
	}
	s.models[t] = predictive.Metrics{ModelType: t, Version: version, TrainedAt: at}
}

func (s *school) now() time.Time { return time.Now().Add(s.clockOff) }

func (s *school) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *school) Jobs(context.Context) ([]predictive.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return []predictive.Job{{State: predictive.JobSucceeded}, {State: predictive.JobRunning}}, nil
	}
	return nil, nil
}

func (s *school) Metrics(_ context.Context, t predictive.ModelType, _ int) (predictive.Metrics, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.models[t]
	if !ok {
		return m, predictive.ErrModelNotFound
	}
	if s.psi > 0 {
		m.Drift = []predictive.FeatureDrift{{Feature: "vibration.mean", PSI: s.psi}, {Feature: "vibration.trend"}}
	}
	return m, nil
}

// set changes the school, and trainings returns how many there were since the last call.
func (s *school) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *school) trainings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.trained)
	s.trained = nil
	return n
}

func retrain(t *testing.T, o monitor.RetrainOptions, test func(t *testing.T, s *school)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(school)
		s.put(predictive.RULModel, 1, time.Now())
		var log bytes.Buffer
		o.Log, o.Clock = slog.New(slog.NewTextHandler(&log, nil)), s.clock
		if o.Types == nil {
			o.Types = []predictive.ModelType{predictive.RULModel}
		}
		r, err := monitor.NewRetrainer(s, o)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		defer func() { cancel(); <-done }()
		pass(time.Minute)
		test(t, s)
	})
}

const day = 24 * time.Hour

func TestModelsAreTrainedWhenTheyAreOld(t *testing.T) {
	retrain(t, monitor.RetrainOptions{Every: 7 * day}, func(t *testing.T, s *school) {
		pass(7*day - 2*time.Hour)
		require.Zero(t, s.trainings())
		pass(3 * time.Hour)
		require.Equal(t, 1, s.trainings())
		pass(28 * day)
		require.Equal(t, 4, s.trainings())
		pass(3 * day)
		s.set(func() { s.put(predictive.RULModel, 9, s.now()) })
		pass(6 * day)
		require.Zero(t, s.trainings(), "someone else has trained it")
		s.set(func() { s.busy = true })
		pass(10 * day)
		require.Zero(t, s.trainings(), "at most one runs")
		s.set(func() { s.busy, s.fails = false, predictive.ErrTrainingFailed })
		pass(20 * day)
		require.Equal(t, 3, s.trainings(), "what fails is not repeated at once")
	})
}

func TestAMissingModelIsTrained(t *testing.T) {
	retrain(t, monitor.RetrainOptions{Every: 7 * day, Types: []predictive.ModelType{predictive.FailureModel}}, func(t *testing.T, s *school) {
		s.set(func() { s.fails = predictive.ErrTrainingFailed })
		pass(time.Hour)
		require.Equal(t, 1, s.trainings())
		pass(6 * day)
		require.Zero(t, s.trainings(), "there are no data")
		s.set(func() { s.fails = nil })
		pass(day)
		require.Equal(t, 1, s.trainings())
	})
}

func TestModelsAreTrainedWhenTheDataHaveDrifted(t *testing.T) {
	retrain(t, monitor.RetrainOptions{PSI: 0.25}, func(t *testing.T, s *school) {
		drift := func(psi float64, d time.Duration) int {
			s.set(func() { s.psi = psi })
			pass(d)
			return s.trainings()
		}
		require.Zero(t, drift(0.2, day))
		require.Zero(t, drift(0.3, 2*time.Hour))
		require.Zero(t, drift(0.2, time.Hour), "not three in a row")
		require.Zero(t, drift(0.3, 2*time.Hour))
		require.Equal(t, 1, drift(0.3, time.Hour))
		require.Zero(t, drift(0.3, 20*time.Hour), "training does not help")
		require.Equal(t, 1, drift(0.3, 5*time.Hour))
	})
}

func TestClockJumpsDoNotStopTheSchedule(t *testing.T) {
	retrain(t, monitor.RetrainOptions{Every: 7 * day}, func(t *testing.T, s *school) {
		pass(day)
		s.set(func() { s.clockOff = 3650 * day })
		pass(2 * time.Hour)
		require.Equal(t, 1, s.trainings(), "it looks old")
		s.set(func() { s.clockOff = 0 })
		pass(8 * day)
		require.Equal(t, 1, s.trainings(), "its time of training is in the future")
	})
}

func TestNothingIsTrainedUnasked(t *testing.T) {
	retrain(t, monitor.RetrainOptions{}, func(t *testing.T, s *school) {
		s.set(func() { s.psi = 5 })
		pass(365 * day)
		require.Zero(t, s.trainings())
	})
}

func TestTheRetrainerEndsWhileATrainingRuns(t *testing.T) {
	retrain(t, monitor.RetrainOptions{Every: day}, func(t *testing.T, s *school) {
		s.set(func() { s.hangs = true })
		pass(2 * day)
	})
}

func TestRetrainOptionsAreValidated(t *testing.T) {
	for want, o := range map[string]monitor.RetrainOptions{
		"Every": {Every: -1}, "PSI": {PSI: -1}, "Checks": {Checks: -1}, "Pause": {Pause: -1}, "CheckInterval": {CheckInterval: -1},
		"Types": {Types: []predictive.ModelType{"Weather"}},
	} {
		_, err := monitor.NewRetrainer(new(school), o)
		require.ErrorContains(t, err, "RetrainOptions."+want)
	}
	_, err := monitor.NewRetrainer(nil, monitor.RetrainOptions{})
	require.ErrorContains(t, err, "trainer")
}
