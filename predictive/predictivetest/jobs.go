package predictivetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

// TestJobStore runs the suite. newStore returns an empty store; it is called for each test.
func TestJobStore(t *testing.T, newStore func(t testing.TB) predictive.JobStore) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s predictive.JobStore)
	}{
		{"one job of a type runs", testJobBegins},
		{"a job comes back as it was stored", testJobComesBack},
		{"a job is canceled", testJobIsCanceled},
		{"a job that has ended stays", testJobHasEnded},
		{"changes are told", testJobChanges},
		{"old jobs are removed", testOldJobs},
		{"of many that begin one succeeds", testConcurrentJobs},
		{"a canceled context ends a call", testJobContext},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

func running(n int, t predictive.ModelType) predictive.Job {
	return predictive.Job{ID: fmt.Sprintf("job-%d", n), ModelType: t, State: predictive.JobRunning, Stage: "starting", StartedAt: start.Add(time.Duration(n) * time.Second), Engine: "a"}
}

func ended(j predictive.Job, state predictive.JobState) predictive.Job {
	j.State, j.Progress, j.Stage, j.EndedAt = state, 1, "ended", j.StartedAt.Add(time.Minute)
	j.Training = &predictive.Training{Success: state == predictive.JobSucceeded, ModelType: j.ModelType, Version: 3, TrainedAt: j.EndedAt, TrainingSamples: 1000,
		Accuracy: 0.75, Precision: 0.5, Recall: 0.25, F1Score: 1.0 / 3, Message: "trained with \u00e4 \"life\""}
	return j
}

func begin(t *testing.T, s predictive.JobStore, j predictive.Job) {
	t.Helper()
	_, begun, err := s.BeginJob(t.Context(), j, 100)
	require.NoError(t, err)
	require.True(t, begun)
}

func jobs(t *testing.T, s predictive.JobStore, after int64) ([]predictive.Job, int64) {
	t.Helper()
	list, next, err := s.Jobs(t.Context(), after)
	require.NoError(t, err)
	return list, next
}

func testJobBegins(t *testing.T, s predictive.JobStore) {
	first, second := running(1, predictive.RULModel), running(2, predictive.RULModel)
	second.Engine = "b"
	begin(t, s, first)
	got, begun, err := s.BeginJob(t.Context(), second, 100)
	require.NoError(t, err)
	require.False(t, begun)
	require.Equal(t, first, got)
	begin(t, s, running(3, predictive.FailureModel))
	require.NoError(t, s.UpdateJob(t.Context(), ended(first, predictive.JobFailed)))
	begin(t, s, second)
	list, _ := jobs(t, s, 0)
	require.Equal(t, []predictive.Job{second, running(3, predictive.FailureModel), ended(first, predictive.JobFailed)}, list)
}

func testJobComesBack(t *testing.T, s predictive.JobStore) {
	j := running(1, predictive.RULModel)
	begin(t, s, j)
	for _, state := range []predictive.Job{
		func() predictive.Job { j := j; j.Progress, j.Stage = 0.37, "Bearing"; return j }(), ended(j, predictive.JobSucceeded),
	} {
		require.NoError(t, s.UpdateJob(t.Context(), state))
		list, _ := jobs(t, s, 0)
		require.Equal(t, []predictive.Job{state}, list)
	}
	require.NoError(t, s.UpdateJob(t.Context(), running(2, predictive.RULModel)), "it may have been removed")
	list, _ := jobs(t, s, 0)
	require.Len(t, list, 1)
}

func testJobIsCanceled(t *testing.T, s predictive.JobStore) {
	_, err := s.CancelJob(t.Context(), "unknown")
	require.ErrorIs(t, err, predictive.ErrJobNotFound)
	j := running(1, predictive.RULModel)
	begin(t, s, j)
	want := j
	want.Canceled = true
	for range 2 {
		got, err := s.CancelJob(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	j.Progress = 0.5 // its engine has not heard of it yet
	require.NoError(t, s.UpdateJob(t.Context(), j))
	want.Progress = 0.5
	list, _ := jobs(t, s, 0)
	require.Equal(t, []predictive.Job{want}, list)
	begin(t, s, running(2, predictive.RULModel))
	end := ended(want, predictive.JobCanceled)
	require.NoError(t, s.UpdateJob(t.Context(), end))
	got, err := s.CancelJob(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, end, got)
}

func testJobHasEnded(t *testing.T, s predictive.JobStore) {
	j := running(1, predictive.RULModel)
	begin(t, s, j)
	failed := ended(j, predictive.JobFailed)
	require.NoError(t, s.UpdateJob(t.Context(), failed))
	late := j
	late.Progress = 0.9
	require.NoError(t, s.UpdateJob(t.Context(), late))
	require.NoError(t, s.UpdateJob(t.Context(), ended(j, predictive.JobCanceled)))
	got, err := s.CancelJob(t.Context(), j.ID)
	require.NoError(t, err)
	require.Equal(t, failed, got)
	require.NoError(t, s.UpdateJob(t.Context(), ended(j, predictive.JobSucceeded)), "there is a model")
	list, _ := jobs(t, s, 0)
	require.Equal(t, []predictive.Job{ended(j, predictive.JobSucceeded)}, list)
}

func testJobChanges(t *testing.T, s predictive.JobStore) {
	list, none := jobs(t, s, 0)
	require.Empty(t, list)
	first, second := running(1, predictive.RULModel), running(2, predictive.FailureModel)
	begin(t, s, first)
	begin(t, s, second)
	list, both := jobs(t, s, none)
	require.Equal(t, []predictive.Job{second, first}, list)
	list, next := jobs(t, s, both)
	require.Empty(t, list)
	require.Equal(t, both, next)
	first.Progress = 0.25
	require.NoError(t, s.UpdateJob(t.Context(), first))
	list, next = jobs(t, s, both)
	require.Equal(t, []predictive.Job{first}, list)
	_, err := s.CancelJob(t.Context(), second.ID)
	require.NoError(t, err)
	list, _ = jobs(t, s, next)
	require.Len(t, list, 1)
	require.True(t, list[0].Canceled)
}

func testOldJobs(t *testing.T, s predictive.JobStore) {
	lasting := running(0, predictive.FailureModel)
	begin(t, s, lasting)
	for n := range 5 {
		j := running(n+1, predictive.RULModel)
		_, begun, err := s.BeginJob(t.Context(), j, 3)
		require.NoError(t, err)
		require.True(t, begun)
		require.NoError(t, s.UpdateJob(t.Context(), ended(j, predictive.JobSucceeded)))
	}
	list, _ := jobs(t, s, 0)
	require.Len(t, list, 3)
	require.Equal(t, []string{"job-5", "job-4", "job-0"}, []string{list[0].ID, list[1].ID, list[2].ID})
}

func testConcurrentJobs(t *testing.T, s predictive.JobStore) {
	var all sync.WaitGroup
	var mu sync.Mutex
	begun := 0
	for n := range 8 {
		all.Go(func() {
			_, one, err := s.BeginJob(t.Context(), running(n, predictive.RULModel), 100)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if one {
				begun++
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, begun)
}

func testJobContext(t *testing.T, s predictive.JobStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.BeginJob(ctx, running(1, predictive.RULModel), 100)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.UpdateJob(ctx, running(1, predictive.RULModel)), context.Canceled)
	_, _, err = s.Jobs(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	list, _ := jobs(t, s, 0)
	require.Empty(t, list)
}
