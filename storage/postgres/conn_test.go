package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/busstore"
)

// A server that restarts, or a pooler, closes all connections of the pool at once.
func TestConnectionsThatTheServerHasClosed(t *testing.T) {
	dsn := pgtest.DSN(t)
	set, err := storetest.OpenPostgres(t, dsn, storage.Options{}).SetOf(busstore.Schema())
	require.NoError(t, err)
	admin, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	read := func(ctx context.Context, tx *storage.Tx) error {
		var n int
		return tx.Row(ctx, "SELECT COUNT(*) FROM bus_messages", nil, &n)
	}
	for range 3 {
		done := make(chan error, 8)
		for range 8 { // as many connections
			go func() {
				done <- set.View(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
					var none string
					return tx.Row(ctx, "SELECT pg_sleep(0.2)", nil, &none)
				})
			}()
		}
		for range 8 {
			require.NoError(t, <-done)
		}
		var ended int
		require.NoError(t, admin.QueryRow(t.Context(), "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&ended))
		require.Greater(t, ended, 1)
		for range 5 {
			require.NoError(t, set.Update(t.Context(), "test", read))
			require.NoError(t, set.View(t.Context(), "test", read))
		}
	}
}
