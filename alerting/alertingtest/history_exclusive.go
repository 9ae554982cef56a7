package alertingtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
)

func testExclusive(t *testing.T, s alerting.HistoryStore) {
	stop := errors.New("stop")
	require.ErrorIs(t, s.Exclusive(t.Context(), func(context.Context) error { return stop }), stop)
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
			err := s.Exclusive(t.Context(), func(ctx context.Context) error {
				defer count(-1)
				if count(1) != 1 {
					t.Error("two work at once")
				}
				return s.ApplyRecords(ctx, []alerting.Record{record(n)}, nil)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, total, err := s.Records(t.Context(), alerting.RecordFilter{}, 0, 1)
	require.NoError(t, err)
	require.EqualValues(t, workers, total)
}
