package clusterpart_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// both are two engines that have shared the work evenly.
func both(t *testing.T, p *plant) (a, b *engine) {
	t.Helper()
	a, b = p.join("a"), p.join("b")
	pass(30 * time.Second)
	require.Equal(t, map[string]int{"a": 2, "b": 2}, a.owned(t))
	return a, b
}

func TestADrainIsPassedOnAndSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := both(t, p)
		require.NoError(t, a.DrainEngine(t.Context(), "b", true))
		pass(5 * time.Second)
		require.Equal(t, map[string]int{"a": 4, "b": 0}, a.owned(t))
		require.True(t, a.of(t, "b").Draining)
		require.FileExists(t, p.file("b"))
		require.NoFileExists(t, p.file("a"))
		require.NoError(t, a.DrainEngine(t.Context(), "b", true), "again")

		b.close(t)
		b = p.join("b")
		pass(30 * time.Second)
		require.Equal(t, map[string]int{"a": 4, "b": 0}, a.owned(t), "also after a restart")
		require.True(t, b.of(t, "b").Draining)

		require.NoError(t, a.DrainEngine(t.Context(), "b", false))
		pass(30 * time.Second)
		require.Equal(t, map[string]int{"a": 2, "b": 2}, a.owned(t))
		require.NoFileExists(t, p.file("b"))
		require.NoError(t, b.DrainEngine(t.Context(), "b", true), "itself")
		pass(5 * time.Second)
		require.Equal(t, map[string]int{"a": 4, "b": 0}, b.owned(t))
		a.close(t)
		b.close(t)
	})
}

func TestAFileDrainsARunningEngineWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := both(t, p)
		require.NoError(t, clusterpart.StoreDrain(p.file("a"), true))
		pass(time.Second)
		require.True(t, a.of(t, "a").Draining)
		pass(time.Second)
		require.Equal(t, map[string]int{"a": 0, "b": 4}, b.owned(t))
		require.NoError(t, clusterpart.StoreDrain(p.file("a"), false))
		require.NoError(t, clusterpart.StoreDrain(p.file("a"), false), "again")
		pass(time.Second)
		require.False(t, a.of(t, "a").Draining)
		a.close(t)
		b.close(t)
	})
}

func TestTheLastEngineIsNotDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := both(t, p)
		require.NoError(t, a.DrainEngine(t.Context(), "a", true))
		pass(5 * time.Second)
		for _, e := range []*engine{a, b} {
			require.ErrorIs(t, e.DrainEngine(t.Context(), "b", true), cluster.ErrNoOtherEngine)
			require.ErrorIs(t, e.DrainEngine(t.Context(), "c", true), cluster.ErrEngineNotFound)
			require.ErrorIs(t, e.DrainEngine(t.Context(), "c", false), cluster.ErrEngineNotFound)
		}
		pass(5 * time.Second)
		require.Equal(t, map[string]int{"a": 0, "b": 4}, a.owned(t))
		a.close(t)
		b.close(t)
	})
}

func TestADrainThatIsNotStoredIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := both(t, p)
		require.NoError(t, os.RemoveAll(p.dir))
		for _, e := range []*engine{a, b} {
			err := e.DrainEngine(t.Context(), "b", true)
			f, ok := fault.From(err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "DRAIN_NOT_STORED", f.Code)
			require.Equal(t, fault.Unavailable, f.Kind)
		}
		pass(5 * time.Second)
		require.Equal(t, map[string]int{"a": 2, "b": 2}, a.owned(t))
		a.close(t)
		b.close(t)
	})
}

func TestAnEngineThatDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := both(t, p)
		require.NoError(t, b.bus.Close(context.Background()))
		begun := time.Now()
		err := a.DrainEngine(t.Context(), "b", true)
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
		require.LessOrEqual(t, time.Since(begun), 5*time.Second)
		a.close(t)
		b.close(t)
	})
}

// An engine that stops takes no work again, whatever it is told.
func TestAnEngineThatStopsIsNotBroughtBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a, b := both(t, p)
		b.slow = time.Second
		ended := make(chan error, 1)
		b.stop()
		go func() { ended <- b.parts[0].Drain(context.Background()) }()
		pass(500 * time.Millisecond)
		require.NoError(t, a.DrainEngine(t.Context(), "b", false))
		pass(2 * time.Second)
		select {
		case err := <-ended:
			require.NoError(t, err)
		default:
			require.Fail(t, "it has not stopped")
		}
		require.Equal(t, map[string]int{"a": 4}, a.owned(t))
		require.NoError(t, b.parts[0].Close(context.Background()))
		a.close(t)
	})
}
