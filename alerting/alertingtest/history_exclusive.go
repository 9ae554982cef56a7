package alertingtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

func testExclusive(t *testing.T, s historyStore) {
	stop := errors.New("stop")
	require.ErrorIs(t, s.WithLock(t.Context(), func(context.Context) error { return stop }), stop)
	const workers = 8
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		working int
	)
	count := func(by int) int {
		mu.Lock()
		defer mu.Unlock()
		working += by
		return working
	}
	for n := range workers {
		wg.Go(func() {
			err := s.WithLock(t.Context(), func(ctx context.Context) error {
				defer count(-1)
				if count(1) != 1 {
					t.Error("two work at once")
				}
				return s.ApplyRecords(ctx, history.Changes{Add: []alerting.Record{record(n)}})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, total, err := s.Records(t.Context(), history.Filter{}, 0, 1)
	require.NoError(t, err)
	require.EqualValues(t, workers, total)
}
