package alarms_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

func TestServicesOnOneStoreTellOneJournal(t *testing.T) {
	store := newStore()
	raise(t, service(t, store, alarms.Options{}), pump("before"))
	services := make([]*alarms.Service, 3)
	subs := make([]*alarms.Subscription, len(services))
	for i := range services {
		services[i] = service(t, store, alarms.Options{PollInterval: time.Millisecond})
		sub, err := services[i].Subscribe(alarms.SubscribeOptions{All: true})
		require.NoError(t, err)
		defer sub.Close()
		subs[i] = sub
	}
	const each = 300
	var writers sync.WaitGroup
	for i, s := range services {
		writers.Go(func() {
			for n := range each {
				if _, err := s.Raise(context.Background(), pump(fmt.Sprint(i, "-", n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	want, err := services[0].Events(t.Context(), 1, 10_000) // "before" was told to nobody
	require.NoError(t, err)
	require.Len(t, want, each*len(services))
	for _, sub := range subs {
		var got []alarms.Event
		for len(got) < len(want) {
			events, err := sub.Next(t.Context(), 0)
			require.NoError(t, err)
			got = append(got, events...)
		}
		require.Equal(t, want, got)
	}
}

func TestFollowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		open := func() *alarms.Service {
			s, err := alarms.New(t.Context(), store, alarms.Options{PollInterval: time.Second})
			require.NoError(t, err)
			return s
		}
		one, other := open(), open()
		defer func() {
			require.NoError(t, errors.Join(one.Close(context.Background()), other.Close(context.Background())))
		}()
		sub, err := other.Subscribe(alarms.SubscribeOptions{All: true})
		require.NoError(t, err)
		defer sub.Close()
		began := time.Now()
		hear := func(within time.Duration, keys ...string) {
			t.Helper()
			for len(keys) > 0 {
				events, err := sub.Next(t.Context(), 1)
				require.NoError(t, err)
				require.Equal(t, keys[0], events[0].Occurrence.Key)
				keys = keys[1:]
			}
			require.LessOrEqual(t, time.Since(began), within)
		}
		raise(t, other, pump("own"))
		hear(0, "own")
		raise(t, one, pump("far"))
		raise(t, other, pump("near")) // comes at once and brings what was before it
		hear(0, "far", "near")
		raise(t, one, pump("alone"))
		require.NoError(t, other.Wait(t.Context(), 3))
		hear(time.Second, "alone")
		_, err = other.Acknowledge(t.Context(), alarms.ByKey("alone"), "anna", "")
		require.NoError(t, err)
		require.NoError(t, one.Wait(t.Context(), 4))
	})
}

// moody is a store whose journal cannot be read for a while.
type moody struct {
	alarms.Store
	down atomic.Bool
}

func (m *moody) Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error) {
	if m.down.Load() {
		return nil, errors.New("no connection")
	}
	return m.Store.Events(ctx, after, limit)
}

func TestFollowingGoesOnAfterAnOutage(t *testing.T) {
	store := &moody{Store: newStore()}
	one := service(t, store.Store, alarms.Options{})
	other := service(t, store, alarms.Options{PollInterval: time.Millisecond})
	sub, err := other.Subscribe(alarms.SubscribeOptions{})
	require.NoError(t, err)
	defer sub.Close()
	store.down.Store(true)
	for i := range 2500 { // more than is read at once
		raise(t, one, pump(fmt.Sprint("k", i)))
	}
	raise(t, other, pump("own")) // waits for what is before it
	store.down.Store(false)
	n := 0
	for n < 2501 {
		events, err := sub.Next(t.Context(), 0)
		require.NoError(t, err)
		n += len(events)
	}
	require.Equal(t, 2501, n)
	_, err = alarms.New(t.Context(), store, alarms.Options{PollInterval: -1})
	require.ErrorContains(t, err, "PollInterval")
}

// TestFollowMissesNothing has a follower sleep while far more happens than its subscription holds.
func TestFollowMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &moody{Store: newStore()}
		s, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		for i := range 3 {
			raise(t, s, pump(fmt.Sprint("before", i)))
		}
		var (
			mu  sync.Mutex
			got []string
		)
		heard := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		var awake atomic.Bool
		done := make(chan error, 1)
		go func() {
			done <- s.Follow(t.Context(), alarms.SubscribeOptions{Changes: true, Buffer: 2}, func(events []alarms.Event) {
				mu.Lock()
				for i := range events {
					got = append(got, events[i].Occurrence.Key)
				}
				mu.Unlock()
				if !awake.Load() {
					time.Sleep(time.Minute)
				}
			})
		}()
		synctest.Wait()
		waits := pump("early")
		waits.ID = "01a20440-3a48-77fa-a566-e3a68db203d1"
		signals := []alarms.Signal{{Raise: &waits}}
		s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "early", Signals: signals}})
		synctest.Wait()
		want := []string{"early"}
		_, err = s.Apply(t.Context(), signals)
		require.NoError(t, err)
		s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "early"}})
		for i := range 2500 {
			key := fmt.Sprint("k", i)
			raise(t, s, pump(key))
			want = append(want, key)
		}
		awake.Store(true)
		store.down.Store(true)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []string{"early"}, heard(), "the journal cannot be read")
		store.down.Store(false)
		time.Sleep(2 * time.Second)
		require.Equal(t, want, heard(), "each once, in order")
		_, err = s.Clear(t.Context(), alarms.ByKey("k0"), "", "")
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, append(want, "k0"), heard())
		require.NoError(t, s.Close(context.Background()))
		require.ErrorIs(t, <-done, alarms.ErrClosed)
		require.ErrorIs(t, s.Follow(t.Context(), alarms.SubscribeOptions{}, func([]alarms.Event) {}), alarms.ErrClosed)
	})
}

// TestFollowMissesNothingBeforeTheFirstEvent has a follower be too slow for what is not stored yet, before it has received any event.
func TestFollowMissesNothingBeforeTheFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := alarms.New(t.Context(), newStore(), alarms.Options{})
		require.NoError(t, err)
		got := make(chan string, 100)
		done := make(chan error, 1)
		go func() {
			done <- s.Follow(t.Context(), alarms.SubscribeOptions{Changes: true, Buffer: 2}, func(events []alarms.Event) {
				for i := range events {
					got <- events[i].Occurrence.Key
				}
				time.Sleep(time.Minute)
			})
		}()
		synctest.Wait()
		show := func(key string, id int) {
			waits := pump(key)
			waits.ID = fmt.Sprintf("01a20440-3a48-77fa-a566-e3a68db203d%d", id)
			s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: key, Signals: []alarms.Signal{{Raise: &waits}}}})
			synctest.Wait()
		}
		for i, key := range []string{"early", "full1", "full2", "full3"} {
			show(key, i)
		}
		for _, key := range []string{"k0", "k1", "k2"} {
			raise(t, s, pump(key))
		}
		time.Sleep(10 * time.Minute)
		var keys []string
		for len(got) > 0 {
			keys = append(keys, <-got)
		}
		require.Equal(t, []string{"early", "k0", "k1", "k2"}, keys)
		require.NoError(t, s.Close(context.Background()))
		require.ErrorIs(t, <-done, alarms.ErrClosed)
	})
}
