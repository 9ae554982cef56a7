package alarms_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

func TestSubscribe(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	raise(t, s, pump("before"))
	news, err := s.Subscribe(alarms.SubscribeOptions{})
	require.NoError(t, err)
	defer news.Close()
	critical, err := s.Subscribe(alarms.SubscribeOptions{Severities: alarms.SetOf(alarms.Error, alarms.Critical)})
	require.NoError(t, err)
	defer critical.Close()
	all, err := s.Subscribe(alarms.SubscribeOptions{All: true})
	require.NoError(t, err)
	defer all.Close()

	raise(t, s, pump("before")) // active already
	var want []string
	for i := range 100 {
		a := pump(fmt.Sprint("k", i))
		a.Severity = alarms.Severity(i % 4)
		want = append(want, raise(t, s, a).ID)
	}
	_, err = s.Acknowledge(t.Context(), alarms.ByID(want[0]), "anna", "")
	require.NoError(t, err)
	_, err = s.Clear(t.Context(), alarms.ByID(want[0]), "", "")
	require.NoError(t, err)

	var got []string
	for len(got) < len(want) {
		events, err := news.Next(t.Context(), 7)
		require.NoError(t, err)
		require.LessOrEqual(t, len(events), 7)
		for _, e := range events {
			require.Equal(t, alarms.Raised, e.Kind)
			got = append(got, e.Occurrence.ID)
		}
	}
	require.Equal(t, want, got, "every new occurrence, in order")
	events, err := critical.Next(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 50)
	events, err = all.Next(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 102)
	require.Equal(t, alarms.Cleared, events[101].Kind)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = news.Next(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSlowSubscriber(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	slow, err := s.Subscribe(alarms.SubscribeOptions{Buffer: 10})
	require.NoError(t, err)
	defer slow.Close()
	quick, err := s.Subscribe(alarms.SubscribeOptions{Buffer: 11})
	require.NoError(t, err)
	defer quick.Close()
	for i := range 11 {
		raise(t, s, pump(fmt.Sprint("k", i)))
	}
	for range 2 {
		_, err = slow.Next(t.Context(), 0)
		require.ErrorIs(t, err, alarms.ErrSlowSubscriber)
	}
	events, err := quick.Next(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 11)
	_, err = s.Subscribe(alarms.SubscribeOptions{Buffer: -1})
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
}

func TestSubscriptionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := alarms.New(t.Context(), newStore(), alarms.Options{})
		require.NoError(t, err)
		one, err := s.Subscribe(alarms.SubscribeOptions{})
		require.NoError(t, err)
		other, err := s.Subscribe(alarms.SubscribeOptions{})
		require.NoError(t, err)
		errs := make(chan error, 3)
		for _, sub := range []*alarms.Subscription{one, other} {
			go func() { _, err := sub.Next(t.Context(), 0); errs <- err }()
		}
		go func() { errs <- s.Wait(t.Context(), 0) }()
		synctest.Wait()
		one.Close()
		one.Close()
		require.ErrorIs(t, <-errs, alarms.ErrClosed)
		require.NoError(t, s.Close(context.Background()))
		require.ErrorIs(t, <-errs, alarms.ErrClosed)
		require.ErrorIs(t, <-errs, alarms.ErrClosed)
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := alarms.New(t.Context(), newStore(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		done := make(chan error, 1)
		go func() { done <- s.Wait(t.Context(), 1) }()
		raise(t, s, pump("a"))
		synctest.Wait()
		require.Empty(t, done, "event 1 is not above 1")
		raise(t, s, pump("b"))
		require.NoError(t, <-done)
		require.NoError(t, s.Wait(t.Context(), 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Wait(ctx, 2), context.DeadlineExceeded)
	})
}
