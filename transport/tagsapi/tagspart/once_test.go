package tagspart

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagconfig"
)

// sharedLog is a log of writes that several engines use.
type sharedLog struct {
	*tags.MemoryWriteLog
	trims atomic.Int32
}

func (s *sharedLog) Trim(context.Context, time.Time) error {
	s.trims.Add(1)
	return nil
}

func (s *sharedLog) MarkUnfinished(context.Context, time.Time) (int64, error) {
	panic("a guess about writes of other engines")
}

// trimmed counts the trims of a history.
type trimmed struct {
	history.Store
	n atomic.Int32
}

func (s *trimmed) Trim(context.Context, time.Time, int64) error {
	s.n.Add(1)
	return nil
}

// still is a driver whose device has nothing to say.
type still struct{}

func (still) Connect(context.Context) error                            { return nil }
func (still) Read(context.Context, []tags.Point, []tags.Reading) error { return nil }
func (still) Write(context.Context, []tags.WriteItem, []error) error   { return nil }
func (still) Close() error                                             { return nil }

// inPlant starts two engines with the driver press. It is for use within a bubble.
func inPlant(t *testing.T, log tags.WriteLog, samples history.Store) (engines []*plantest.Engine) {
	plant := plantest.New(t)
	config, definitions := tagconfig.NewMemory(), drivers.NewMemory()
	for _, id := range []string{"a", "b"} {
		e := plant.Join(id)
		p, err := New(t.Context(), Options{Config: config, DriverStore: definitions, Writes: log, HistoryStore: samples, Cluster: e.Cluster})
		require.NoError(t, err)
		require.NoError(t, p.AddDriver(Driver{ID: "press", Driver: still{}}))
		t.Cleanup(func() {
			e.Leave()
			require.NoError(t, p.drain(context.Background()))
		})
		e.Start(p.Part())
		engines = append(engines, e)
	}
	return engines
}

func TestEnginesOfAPlantTrimOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, samples := &sharedLog{MemoryWriteLog: tags.NewMemoryWriteLog(1)}, &trimmed{Store: history.NewMemory()}
		engines := inPlant(t, log, samples)
		time.Sleep(65 * time.Minute)
		require.EqualValues(t, 1, log.trims.Load())
		require.EqualValues(t, 6, samples.n.Load())
		engines[0].Leave()
		time.Sleep(65 * time.Minute)
		require.EqualValues(t, 2, log.trims.Load())
		require.EqualValues(t, 12, samples.n.Load())
	})
}

func TestWritesOfAnEngineThatIsLostAreSettledWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &sharedLog{MemoryWriteLog: tags.NewMemoryWriteLog(100)}
		put := func(id, driver string, at time.Time) {
			t.Helper()
			require.NoError(t, log.Put(t.Context(), []tags.Write{{ID: id, Driver: driver, State: tags.WriteQueued, QueuedAt: at}}))
		}
		state := func(id string) tags.WriteState {
			t.Helper()
			w, err := log.Get(t.Context(), id)
			require.NoError(t, err)
			return w.State
		}
		put("before", "press", time.Now())
		put("removed", "removed", time.Now())
		engines := inPlant(t, log, history.NewMemory())
		time.Sleep(4 * time.Second)
		require.Equal(t, tags.WriteUnknown, state("before"))
		put("unanswered", "press", time.Now()) // the log took it, and the answer was lost
		time.Sleep(30 * time.Minute)
		require.Equal(t, tags.WriteUnknown, state("removed"), "nobody takes the driver over")
		require.Equal(t, tags.WriteUnknown, state("unanswered"))

		owner := engines[0]
		if s, _, ok := owner.Cluster.Owner(kindDriver, "press"); ok && s.Engine == "b" {
			owner = engines[1]
		}
		put("lost", "press", time.Now().Add(time.Minute)) // by a clock that is ahead
		time.Sleep(10 * time.Minute)
		require.Equal(t, tags.WriteQueued, state("lost"), "its engine may know what becomes of it")
		owner.Cut(true)
		time.Sleep(4 * time.Second)
		require.Equal(t, tags.WriteUnknown, state("lost"))
	})
}
