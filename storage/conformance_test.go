package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

func TestPingAndStats(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		require.NoError(t, db.Ping(t.Context()))
		stats, err := db.Stats(t.Context())
		require.NoError(t, err)
		require.Positive(t, stats.StateBytes)
		require.Positive(t, stats.HistoryBytes)
	})
}
