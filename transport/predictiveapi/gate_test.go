package predictiveapi_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/remote"
)

func TestOnlySoManyCallersWaitForAnomalies(t *testing.T) {
	o := options{}
	o.api.Known = func(ctx context.Context) bool { _, ok := remote.From(ctx); return ok }
	p := newPlant(t, o)
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
	calls.Go(func() {
		if a := p.call(t.Context(), http.MethodGet, "/anomaly/hall%201%2Fpump.vibration", "", "Test-Address", "192.0.2.1"); a.status != http.StatusOK {
			refused <- a
		}
	})
	require.Eventually(t, func() bool { return p.reading.Load() == 3 }, patience, time.Millisecond, "who is known need not wait for the others")
	p.get("/metrics/RUL").refused(404, "MODEL_NOT_FOUND")
	close(p.hold)
	calls.Wait()
	require.Empty(t, refused)
}
