package engine

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// What happens all the time is told once an hour, again after somebody has acknowledged it, and ends an hour after the
// last time. So does what an engine before this one has raised.
func TestNoticesComeHourlyAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := alarms.NewMemory()
		service, err := alarms.New(t.Context(), store, alarms.Options{Resolutions: store})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		_, err = service.Apply(t.Context(), []alarms.Signal{{Raise: &alarms.Alarm{Key: tagCapReached, Source: "engine", Message: "of before"}}})
		require.NoError(t, err)
		n := newNotices(service, time.Now, slog.New(slog.DiscardHandler))
		last := func(key string) *alarms.Occurrence {
			t.Helper()
			synctest.Wait()
			c, err := service.Condition(t.Context(), alarms.ByKey(key))
			require.NoError(t, err)
			return c.Last
		}
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); <-done }()
		go func() { n.run(ctx); close(done) }()

		n.raise(webhookRefused, "first")
		first := last(webhookRefused)
		require.Equal(t, "first", first.Message)
		require.Equal(t, alarms.Warning, first.Severity)
		_, err = service.Acknowledge(t.Context(), alarms.ByID(first.ID), "anna", "")
		require.NoError(t, err)
		for range 59 {
			time.Sleep(time.Minute)
			n.raise(webhookRefused, "more")
		}
		require.Equal(t, first.ID, last(webhookRefused).ID, "at most hourly")
		require.True(t, last(tagCapReached).Active)
		time.Sleep(2 * time.Minute)
		require.False(t, last(tagCapReached).Active, "nothing has happened for an hour")
		n.raise(webhookRefused, "second")
		second := last(webhookRefused)
		require.NotEqual(t, first.ID, second.ID)
		require.Equal(t, "second", second.Message)
		time.Sleep(62 * time.Minute)
		require.False(t, last(webhookRefused).Active)
	})
}

// An engine at which nothing happens does not end what another one has raised.
func TestNoticesOfAnotherEngineStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := alarms.NewMemory()
		service, err := alarms.New(t.Context(), store, alarms.Options{Resolutions: store})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		ctx, cancel := context.WithCancel(t.Context())
		var engines [2]*notices
		var all sync.WaitGroup
		defer func() { cancel(); all.Wait() }()
		for i := range engines {
			engines[i] = newNotices(service, time.Now, slog.New(slog.DiscardHandler))
			all.Go(func() { engines[i].run(ctx) })
		}
		time.Sleep(30 * time.Minute)
		engines[1].raise(webhookRefused, "refused")
		active := func() bool {
			c, err := service.Condition(t.Context(), alarms.ByKey(webhookRefused))
			require.NoError(t, err)
			return c.Last.Active
		}
		for range 59 {
			time.Sleep(time.Minute)
			require.True(t, active())
		}
		time.Sleep(3 * time.Minute)
		require.False(t, active())
	})
}
