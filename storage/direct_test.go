package storage_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/busstore"
)

func TestSingleStatements(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		set, err := open(t, storage.Options{}).SetOf(busstore.Schema())
		require.NoError(t, err)
		for seq := range 3 {
			var got int
			require.NoError(t, set.TryRow(t.Context(), "test", "INSERT INTO bus_messages (engine, seq, subject, request, expires_us, data) VALUES ('e', ?, '', 0, 0, ?) RETURNING seq",
				[]any{int64(seq), []byte{}}, &got))
			require.Equal(t, seq, got)
		}
		var all []int
		require.NoError(t, set.Each(t.Context(), "test", "SELECT seq FROM bus_messages WHERE seq > ? ORDER BY seq", []any{int64(0)}, func(row storage.Scanner) error {
			var seq int
			all = append(all, seq)
			return row.Scan(&all[len(all)-1])
		}))
		require.Equal(t, []int{1, 2}, all)
		stop := errors.New("enough")
		require.ErrorIs(t, set.Each(t.Context(), "test", "SELECT seq FROM bus_messages", nil, func(storage.Scanner) error { return stop }), stop)
		var none int
		require.ErrorIs(t, set.TryRow(t.Context(), "test", "DELETE FROM bus_messages WHERE seq = 9 RETURNING seq", nil, &none), sql.ErrNoRows)
	})
}

func TestAStatementThatNeedNotBeCarriedOutEndsWithItsContext(t *testing.T) {
	db := storetest.OpenPostgres(t, pgtest.DSN(t), storage.Options{})
	set, err := db.SetOf(busstore.Schema())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var none string
	require.ErrorIs(t, set.TryRow(ctx, "test", "SELECT pg_sleep(60)", nil, &none), storage.ErrCanceled)
}

func TestNotifications(t *testing.T) {
	dsn := pgtest.DSN(t)
	db := storetest.OpenPostgres(t, dsn, storage.Options{})
	set, err := db.SetOf(busstore.Schema())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ready, got, ended := make(chan struct{}), make(chan string, 10), make(chan error)
	go func() {
		ended <- set.Listen(ctx, "plant", func() { close(ready) }, func(payload string) { got <- payload })
	}()
	<-ready
	db.Exec(t, "SELECT pg_notify('other', '0')")
	db.Exec(t, "SELECT pg_notify('plant', '1')")
	db.Exec(t, "NOTIFY plant, '2'")
	require.Equal(t, "1", <-got)
	require.Equal(t, "2", <-got)
	cancel()
	require.ErrorIs(t, <-ended, storage.ErrCanceled)
	require.Empty(t, got)

	ready = make(chan struct{})
	go func() { ended <- set.Listen(t.Context(), "plant", func() { close(ready) }, func(string) {}) }()
	<-ready
	db.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN plant'")
	require.ErrorIs(t, <-ended, storage.ErrAway)
}

func TestNotificationsThatDoNotPass(t *testing.T) {
	listen := func(db *storetest.DB) error {
		set, err := db.SetOf(busstore.Schema())
		require.NoError(t, err)
		return set.Listen(t.Context(), "plant", func() { t.Error("it listens") }, func(string) {})
	}
	require.ErrorIs(t, listen(storetest.OnSQLite(t)(t, storage.Options{})), errors.ErrUnsupported)
	require.ErrorIs(t, listen(storetest.OpenPostgres(t, pgtest.Pooler(t, pgtest.DSN(t)), storage.Options{})), errors.ErrUnsupported)
}
