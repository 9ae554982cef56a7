package tagsapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnswersWithHistoryWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		enter := func() func() {
			leave, err := l.enter(t.Context())
			require.NoError(t, err)
			return leave
		}
		var leaves []func()
		for range maxHistoryTables {
			leaves = append(leaves, enter())
		}
		start := time.Now()
		time.AfterFunc(3*time.Second, leaves[0])
		leaves[0] = enter()
		require.Equal(t, 3*time.Second, time.Since(start))
		_, err := l.enter(t.Context())
		require.ErrorIs(t, err, errHistoryBusy)
		require.Equal(t, 3*time.Second+maxTableWait, time.Since(start))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = l.enter(gone)
		require.ErrorIs(t, err, context.Canceled, "a caller that leaves")

		refused := make(chan error, maxTablesQueued)
		for range maxTablesQueued {
			go func() {
				_, err := l.enter(t.Context())
				refused <- err
			}()
		}
		synctest.Wait()
		start = time.Now()
		_, err = l.enter(t.Context())
		require.ErrorIs(t, err, errHistoryBusy)
		require.Zero(t, time.Since(start), "too many wait")
		for range maxTablesQueued {
			require.ErrorIs(t, <-refused, errHistoryBusy)
		}
		for _, leave := range leaves {
			leave()
		}
		require.Empty(t, l.queue)
		require.Empty(t, l.turn)
	})
}
