package tagspart

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// settling is a log of writes that keeps the times that it was asked to settle.
type settling struct {
	*tags.MemoryWriteLog
	before []time.Time
}

func (s *settling) MarkUnfinished(_ context.Context, before time.Time) (int64, error) {
	s.before = append(s.before, before)
	return 1, nil
}

func TestWritesOfAnEngineThatEndedAreSettledNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &settling{MemoryWriteLog: tags.NewMemoryWriteLog(1)}
		o, err := Options{ModelPath: filepath.Join(t.TempDir(), "model.json"), Writes: log}.withDefaults()
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		var wg sync.WaitGroup
		for _, job := range (&Tags{opts: o}).upkeep() {
			wg.Go(func() { job(ctx) })
		}
		time.Sleep(25 * time.Minute)
		stop()
		wg.Wait()
		require.Equal(t, []time.Time{began.Add(-5 * time.Minute), began.Add(5 * time.Minute)}, log.before)
	})
}
