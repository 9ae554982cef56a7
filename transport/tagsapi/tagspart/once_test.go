package tagspart

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// shared is a log of writes that several engines use.
type shared struct {
	*tags.MemoryWriteLog
	mu      sync.Mutex
	trims   int
	settled []string
}

func (s *shared) Trim(context.Context, time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trims++
	return nil
}

func (s *shared) MarkUnfinished(context.Context, time.Time) (int64, error) {
	panic("a guess about writes of other engines")
}

func (s *shared) UnfinishedDrivers(context.Context, time.Time) ([]string, error) {
	return []string{"press", "removed"}, nil
}

func (s *shared) MarkUnfinishedOf(_ context.Context, driver string, before time.Time) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, driver)
	return 1, nil
}

// trimmed counts the trims of a history.
type trimmed struct {
	history.Store
	log *shared
	n   int
}

func (s *trimmed) Trim(context.Context, time.Time, int64) error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.n++
	return nil
}

func TestEnginesOfAPlantTrimAndSettleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plant, log := plantest.New(t), &shared{MemoryWriteLog: tags.NewMemoryWriteLog(1)}
		samples := &trimmed{Store: history.NewMemory(), log: log}
		var engines []*plantest.Engine
		for _, id := range []string{"a", "b"} {
			e := plant.Join(id)
			p, err := New(t.Context(), Options{ModelPath: filepath.Join(t.TempDir(), "model.json"), Writes: log, HistoryStore: samples, Cluster: e.Cluster})
			require.NoError(t, err)
			e.Cluster.Handle("driver", func(ctx context.Context, _ string, _ *cluster.Held) error { <-ctx.Done(); return nil })
			e.Cluster.Set("driver", []cluster.Work{{Name: "press"}})
			t.Cleanup(func() { require.NoError(t, p.drain(context.Background())) })
			part := p.Part()
			part.Jobs = append(p.upkeep(), p.historyTrim()...) // without those that watch files
			e.Start(part)
			engines = append(engines, e)
		}
		time.Sleep(65 * time.Minute)
		count := func() (int, int, []string) {
			log.mu.Lock()
			defer log.mu.Unlock()
			return log.trims, samples.n, append([]string(nil), log.settled...)
		}
		trims, histories, settled := count()
		require.Equal(t, 1, trims)
		require.Equal(t, 6, histories)
		require.Len(t, settled, 6)
		require.NotContains(t, settled, "press", "its engine knows what becomes of the writes to it")
		engines[0].Cut(true)
		time.Sleep(65 * time.Minute)
		trims, histories, settled = count()
		require.Equal(t, 2, trims)
		require.GreaterOrEqual(t, histories, 12)
		require.GreaterOrEqual(t, len(settled), 12)
	})
}
