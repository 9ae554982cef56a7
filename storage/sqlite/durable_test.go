package sqlite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
)

// A bridge deletes samples once the history and the position are stored. If a loss of power took only the samples back, they would be lost.
func TestCommitsOfBothFilesSurviveALossOfPower(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, bindingstore.Schema(), historystore.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	for _, schema := range []storage.Schema{bindingstore.Schema(), historystore.Schema()} {
		set, err := db.SetOf(schema)
		require.NoError(t, err)
		level := 0
		require.NoError(t, set.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
			return tx.Each(ctx, "PRAGMA synchronous", nil, func(row storage.Scanner) error { return row.Scan(&level) })
		}))
		require.Equal(t, 2, level, "%s: FULL", schema.Name)
	}
}
