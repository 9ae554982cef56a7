package predictiveapi_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOnlySoManyCallersWaitForAnomalies(t *testing.T) {
	p := newPlant(t, options{})
	p.hold = make(chan struct{})
	const room, more = 102, 20
	var calls sync.WaitGroup
	refused := make(chan answer, room+more)
	for range room + more {
		calls.Go(func() {
			if a := p.get("/anomaly/hall%201%2Fpump.vibration"); a.status != http.StatusOK {
				refused <- a
			}
		})
	}
	for range more {
		a := <-refused
		a.refused(429, "TOO_MANY_WAITING")
		require.Equal(t, "1", a.header.Get("Retry-After"))
	}
	require.Eventually(t, func() bool { return p.reading.Load() == 2 }, patience, time.Millisecond, "the history is read for few calls at the same time")
	require.Equal(t, int32(2), p.reading.Load())
	require.Equal(t, http.StatusOK, p.get("/equipments").status)
	p.get("/metrics/RUL").refused(404, "MODEL_NOT_FOUND")
	close(p.hold)
	calls.Wait()
	require.Empty(t, refused)
}
