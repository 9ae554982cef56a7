package tags_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func always() bool { return true }

// sharedEngine returns an engine that shares the driver "plc" with others.
func sharedEngine(t *testing.T, d tags.Driver, pass func(context.Context, string, []tags.WriteRequest) ([]tags.Write, []error, error)) *tags.Engine {
	t.Helper()
	if pass == nil {
		pass = func(context.Context, string, []tags.WriteRequest) ([]tags.Write, []error, error) {
			return nil, nil, errors.New("no engine is there")
		}
	}
	e, err := tags.New(tags.Options{Shared: &tags.Shared{Write: pass}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Type: "Fake", PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{
		{Name: "plc.a", Address: "a", DataType: tags.Int, Access: tags.ReadWrite, StaleAfter: time.Second},
		{Name: "plc.b", Address: "b", DataType: tags.Int, Access: tags.ReadWrite},
	}}))
	return e
}

// runs runs a driver until stop is called, which waits for the end.
func runs(t *testing.T, e *tags.Engine, valid func() bool) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.RunDriver(ctx, "plc", valid) }()
	return func() {
		t.Helper()
		cancel()
		require.NoError(t, <-ended)
	}
}

func TestSharedDriverRunsOnlyWhileItIsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := sharedEngine(t, d, nil)
		time.Sleep(time.Minute)
		require.Empty(t, d.attempts())
		require.Equal(t, tags.DriverStopped, e.Drivers()[0].State)
		require.NotEmpty(t, e.Drivers()[0].LastError)
		for n := range 3 {
			stop := runs(t, e, always)
			d.has("a", tags.IntValue(int64(n)))
			time.Sleep(time.Second)
			s, err := e.Read("plc.a")
			require.NoError(t, err)
			require.Equal(t, tags.IntValue(int64(n)), s.Sample.Value)
			require.Equal(t, tags.Good, s.Sample.Quality)
			require.Equal(t, tags.DriverOnline, e.Drivers()[0].State)
			require.ErrorIs(t, e.RunDriver(t.Context(), "plc", always), tags.ErrDriverExists)
			stop()
			require.Len(t, d.attempts(), n+1)
			require.Equal(t, n+1, d.closes())
			before := d.readsOf("a")
			time.Sleep(time.Minute)
			require.Equal(t, before, d.readsOf("a"))
			s, err = e.Read("plc.a")
			require.NoError(t, err)
			require.Equal(t, tags.Good, s.Sample.Quality, "another engine may go on: it does not grow old here")
		}
	})
}

func TestApplyShowsWhatAnotherEngineReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := sharedEngine(t, d, nil)
		var seen []tags.Change
		var mu sync.Mutex
		defer e.Observe(func(c []tags.Change) {
			mu.Lock()
			seen = append(seen, c...)
			mu.Unlock()
		})()
		sub, err := e.Subscribe(tags.SubscribeOptions{Names: []string{"plc.a"}})
		require.NoError(t, err)
		defer sub.Close()
		_, err = sub.Next(t.Context(), 0)
		require.NoError(t, err)
		at := time.Now().Add(-time.Second)
		good := tags.RemoteSample{Tag: "plc.a", Sample: tags.Sample{Value: tags.IntValue(7), Quality: tags.Good, SourceTime: at, ServerTime: at}}
		e.Report("plc", tags.DriverStatus{Engine: "other", State: tags.DriverOnline, Samples: 5})
		e.Apply("plc", []tags.RemoteSample{good, {Tag: "unknown", Sample: good.Sample}, {Tag: "plc.b", Sample: tags.Sample{Value: tags.StringValue("x"), Quality: tags.Good}}})
		changes, err := sub.Next(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, changes, 1)
		require.Equal(t, good.Sample, changes[0].Sample)
		require.True(t, changes[0].Remote)
		require.Len(t, seen, 1)
		require.True(t, seen[0].Remote)
		status := e.Drivers()[0]
		require.Equal(t, "other", status.Engine)
		require.Equal(t, tags.DriverOnline, status.State)
		require.Equal(t, 2, status.Tags)

		time.Sleep(time.Hour) // whoever runs the driver says when it grows old
		s, err := e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, good.Sample, s.Sample)

		later := good
		later.ServerTime = later.ServerTime.Add(time.Minute)
		e.Apply("plc", []tags.RemoteSample{later})
		s, err = e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, later.Sample, s.Sample, "the same value with a newer time is no change, but shown")
		require.Len(t, seen, 1)

		e.Report("plc", tags.DriverStatus{})
		s, err = e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.Uncertain, s.Sample.Quality)
		require.Equal(t, tags.ReasonEngine, s.Sample.Reason)
		require.Equal(t, tags.IntValue(7), s.Sample.Value)
		b, err := e.Read("plc.b")
		require.NoError(t, err)
		require.Equal(t, tags.Bad, b.Sample.Quality)
		e.Apply("plc", []tags.RemoteSample{later})
		s, err = e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.Good, s.Sample.Quality)

		d.has("a", tags.IntValue(1))
		stop := runs(t, e, always)
		time.Sleep(time.Second)
		e.Apply("plc", []tags.RemoteSample{good})
		e.Report("plc", tags.DriverStatus{})
		s, err = e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.IntValue(1), s.Sample.Value, "this engine runs it now")
		require.Equal(t, tags.Good, s.Sample.Quality)
		list, ok := e.Samples("plc", nil)
		require.True(t, ok)
		require.Len(t, list, 2)
		stop()
		_, ok = e.Samples("plc", nil)
		require.False(t, ok)
	})
}

func TestAgeCountsFromTakingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := sharedEngine(t, d, nil)
		e.Apply("plc", []tags.RemoteSample{{Tag: "plc.a", Sample: tags.Sample{Value: tags.IntValue(7), Quality: tags.Good, SourceTime: time.Now()}}})
		time.Sleep(time.Hour)
		d.set(func(d *device) { d.hold = make(chan struct{}) })
		stop := runs(t, e, always)
		time.Sleep(900 * time.Millisecond)
		s, err := e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.Good, s.Sample.Quality)
		time.Sleep(1200 * time.Millisecond)
		s, err = e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.ReasonStale, s.Sample.Reason)
		close(d.hold)
		stop()
	})
}

// What an engine reads after the end of its lease is not taken over, and it sends nothing any more.
func TestLeaseThatEndsDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.has("a", tags.IntValue(1))
		e := sharedEngine(t, d, nil)
		var lost atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- e.RunDriver(ctx, "plc", func() bool { return !lost.Load() }) }()
		time.Sleep(time.Second)
		held := make(chan struct{})
		d.set(func(d *device) { d.hold = held })
		time.Sleep(time.Second)
		w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.b", Value: tags.IntValue(5)})
		require.NoError(t, err)
		d.has("a", tags.IntValue(2))
		lost.Store(true)
		close(held)
		require.NoError(t, <-ended, "the run ends, although its context has not")
		s, err := e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.IntValue(1), s.Sample.Value)
		require.Empty(t, d.writtenValues())
		w, err = e.AwaitWrite(t.Context(), w.ID)
		require.NoError(t, err)
		require.Equal(t, tags.WriteFailed, w.State)
		require.Positive(t, d.closes())
	})
}

func TestWritesArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		other := sharedEngine(t, d, nil)
		var failure error
		e := sharedEngine(t, newDevice(), func(ctx context.Context, driver string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
			require.Equal(t, "plc", driver)
			if failure != nil {
				return nil, nil, failure
			}
			return other.WriteHere(ctx, requests)
		})
		one := []tags.WriteRequest{{Tag: "plc.a", Value: tags.IntValue(1)}}
		_, err := e.Write(t.Context(), one[0])
		require.ErrorIs(t, err, tags.ErrDriverOffline, "the other does not run it either, and does not pass it on again")
		stop := runs(t, other, always)
		time.Sleep(time.Second)
		writes, errs, err := e.WriteMany(t.Context(), []tags.WriteRequest{one[0], {Tag: "none"}, {Tag: "plc.b", Value: tags.IntValue(2)}})
		require.NoError(t, err)
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], tags.ErrTagNotFound)
		require.NoError(t, errs[2])
		time.Sleep(time.Second)
		require.Equal(t, []tags.Value{tags.IntValue(1), tags.IntValue(2)}, d.writtenValues())
		w, err := other.GetWrite(t.Context(), writes[2].ID)
		require.NoError(t, err)
		require.Equal(t, tags.WriteDone, w.State)
		_, errs, err = e.WriteHere(t.Context(), one)
		require.NoError(t, err)
		require.ErrorIs(t, errs[0], tags.ErrDriverOffline)

		failure = context.DeadlineExceeded
		_, err = e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(9), ID: "w-9"})
		require.ErrorIs(t, err, tags.ErrWriteUnanswered)
		require.Contains(t, err.Error(), "w-9")
		stop()
	})
}

func TestRemovedDriverIsNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := sharedEngine(t, d, nil)
		ended := make(chan error, 1)
		go func() { ended <- e.RunDriver(t.Context(), "plc", always) }()
		time.Sleep(time.Second)
		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		require.ErrorIs(t, <-ended, tags.ErrInvalidDriver)
		require.ErrorIs(t, e.RunDriver(t.Context(), "plc", always), tags.ErrInvalidDriver)
		s, err := e.Read("plc.a")
		require.NoError(t, err)
		require.Equal(t, tags.ReasonNoDriver, s.Sample.Reason)
		require.Equal(t, 1, d.closes())

		never := newDevice()
		f := sharedEngine(t, never, nil)
		require.NoError(t, f.RemoveDriver(t.Context(), "plc"))
		require.Empty(t, never.attempts())
		require.Equal(t, 1, never.closes())
	})
}

// slowLog takes its time for outcomes.
type slowLog struct{ *tags.MemoryWriteLog }

func (l slowLog) Put(ctx context.Context, writes []tags.Write) error {
	if writes[0].State.Final() {
		time.Sleep(time.Second)
	}
	return l.MemoryWriteLog.Put(ctx, writes)
}

// Whoever runs the driver next takes writes without an outcome for those of an engine that was lost.
func TestOutcomesAreLoggedBeforeADriverMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slowLog{tags.NewMemoryWriteLog(10)}
		e, err := tags.New(tags.Options{Writes: log, Shared: &tags.Shared{Write: func(context.Context, string, []tags.WriteRequest) ([]tags.Write, []error, error) {
			return nil, nil, errors.New("no engine is there")
		}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close(context.Background())) }()
		require.NoError(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{Tags: []tags.Tag{{Name: "plc.a", Address: "a", DataType: tags.Int, Access: tags.ReadWrite}}}))
		var lost atomic.Bool
		for _, lose := range []bool{false, true} {
			stop := runs(t, e, func() bool { return !lost.Load() })
			time.Sleep(time.Second)
			w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(5)})
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
			lost.Store(lose)
			stop()
			logged, err := log.Get(t.Context(), w.ID)
			require.NoError(t, err)
			if lose {
				require.Equal(t, tags.WriteQueued, logged.State, "the lease is gone: nobody waits")
			} else {
				require.Equal(t, tags.WriteDone, logged.State)
			}
		}
	})
}

// Each write that was accepted has an outcome, and what was carried out was carried out once, while a driver moves to and fro
// between two engines.
func TestWritesWhileADriverMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		var engines [2]*tags.Engine
		for i := range engines {
			engines[i] = sharedEngine(t, d, func(ctx context.Context, _ string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
				return engines[1-i].WriteHere(ctx, requests)
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		accepted := map[string]int64{}
		var mu sync.Mutex
		for i := range engines {
			wg.Go(func() {
				for n := int64(1); ctx.Err() == nil; n++ {
					value := n*2 + int64(i)
					w, err := engines[i].Write(ctx, tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(value)})
					if err == nil {
						mu.Lock()
						accepted[w.ID] = value
						mu.Unlock()
					}
					time.Sleep(3 * time.Millisecond)
				}
			})
		}
		random := rand.New(rand.NewPCG(1, 2))
		for n := range 200 {
			stop := runs(t, engines[n%2], always)
			time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
			stop()
		}
		cancel()
		wg.Wait()
		times := map[tags.Value]int{}
		for _, v := range d.writtenValues() {
			times[v]++
		}
		done := 0
		for id, value := range accepted {
			w, err := engines[0].GetWrite(t.Context(), id)
			if errors.Is(err, tags.ErrWriteNotFound) {
				w, err = engines[1].GetWrite(t.Context(), id)
			}
			require.NoError(t, err)
			require.True(t, w.State.Final(), "%+v", w)
			want := 0
			if w.State == tags.WriteDone {
				want, done = 1, done+1
			}
			require.Equal(t, want, times[tags.IntValue(value)], fmt.Sprint(w))
		}
		require.Greater(t, done, 100)
	})
}
