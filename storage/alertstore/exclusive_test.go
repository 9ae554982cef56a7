package alertstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// TestExclusiveBetweenEngines has two engines with one database: the second one waits for the first, but
// not for ever, since an engine can vanish without the database noticing.
func TestExclusiveBetweenEngines(t *testing.T) {
	open := storetest.Must(storetest.TryPostgres(pgtest.DSN(t)))
	one, other := open(t, storage.Options{}).AlertHistory(), open(t, storage.Options{}).AlertHistory()
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- one.WithLock(t.Context(), func(context.Context) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, other.WithLock(brief, func(context.Context) error { t.Error("both work"); return nil }))
	worked := false
	require.NoError(t, other.WithLock(t.Context(), func(context.Context) error { worked = true; return nil }))
	require.True(t, worked, "it goes on without the one that holds the lock")
	close(end)
	require.NoError(t, <-done)
	require.NoError(t, other.WithLock(t.Context(), func(ctx context.Context) error { // it was free, and is its own now
		brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		require.Error(t, one.WithLock(brief, func(context.Context) error { t.Error("both work"); return nil }))
		return nil
	}))
}
