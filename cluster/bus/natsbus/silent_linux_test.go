package natsbus_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/natstest"
)

// A server that hangs takes what its buffers hold, and nothing else.
func TestAServerThatHangs(t *testing.T) {
	server := natstest.Start(t)
	l := newLine(t, connect(t, to(server)), connect(t, to(server)))
	l.works()
	server.Freeze()
	began := time.Now()
	large := make([]byte, 100<<10)
	var slowest time.Duration
	refused := 0
	for time.Since(began) < 2*time.Second || l.a.Status().Up {
		require.Less(t, time.Since(began), patience, "the silence is not noticed")
		before := time.Now()
		if err := l.a.Publish("other", large); err != nil {
			require.ErrorIs(t, err, bus.ErrDown)
			refused++
		}
		slowest = max(slowest, time.Since(before))
		time.Sleep(time.Millisecond)
	}
	t.Logf("noticed after %s; slowest Publish %s; %d refused", time.Since(began), slowest, refused)
	require.Positive(t, refused, "the queue has no bound")
	require.Less(t, slowest, time.Second, "Publish waits for the server")
	require.ErrorIs(t, l.request(), bus.ErrDown)
	server.Thaw()
	l.works()
}

func TestCloseWithAServerThatHangs(t *testing.T) {
	server := natstest.Start(t)
	b := connect(t, to(server))
	server.Freeze()
	for range 300 {
		_ = b.Publish("values", make([]byte, 100<<10))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	before := time.Now()
	if err := b.Close(ctx); err != nil {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Less(t, time.Since(before), 2*time.Second)
	closeBus(t, b)
	require.ErrorIs(t, b.Publish("values", nil), bus.ErrClosed)
}

func TestARequestToAServerThatHangs(t *testing.T) {
	server := natstest.Start(t)
	l := newLine(t, connect(t, to(server)), connect(t, to(server)))
	l.works()
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.a.Request(ctx, "write", nil)
	require.ErrorIs(t, err, bus.ErrNoAnswer)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	server.Thaw()
	l.works()
}
