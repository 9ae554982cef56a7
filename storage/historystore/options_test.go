package historystore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
)

func TestBadOptionsAreNamed(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{})
	for name, opts := range map[string]historystore.Options{
		"CompactSamples": {CompactSamples: 5},
		"CompactAfter":   {CompactAfter: 1},
	} {
		_, err := historystore.New(db.DB, opts)
		require.ErrorIs(t, err, storage.ErrOption)
		require.ErrorContains(t, err, name)
	}
}
