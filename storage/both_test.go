package storage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

func TestMain(m *testing.M) {
	child()
	importChild()
	pgtest.Main(m, func() int {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

// tryer opens a database again and again: the same one each time.
type tryer func(ctx context.Context, opts storage.Options) (*storage.DB, error)

// opener is a tryer that must succeed and that closes the database when the test ends.
type opener func(t testing.TB, opts storage.Options) *storage.DB

func must(try tryer) opener {
	return func(t testing.TB, opts storage.Options) *storage.DB {
		t.Helper()
		db, err := try(t.Context(), opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
}

func trySQLite(dir string) tryer {
	return func(ctx context.Context, opts storage.Options) (*storage.DB, error) {
		return sqlite.Open(ctx, sqlite.Options{Options: opts, Dir: dir})
	}
}

func tryPostgres(dsn string) tryer {
	return func(ctx context.Context, opts storage.Options) (*storage.DB, error) {
		return postgres.Open(ctx, postgres.Options{Options: opts, DSN: dsn})
	}
}

func openSQLite(t testing.TB, dir string, opts storage.Options) *storage.DB {
	t.Helper()
	return must(trySQLite(dir))(t, opts)
}

func openPostgres(t testing.TB, dsn string, opts storage.Options) *storage.DB {
	t.Helper()
	return must(tryPostgres(dsn))(t, opts)
}

// onSQLite gives an opener of a new SQLite database, onPostgres one of a new PostgreSQL database.
func onSQLite(t testing.TB) opener { return must(trySQLite(t.TempDir())) }

func onPostgres(t testing.TB) opener { return must(tryPostgres(pgtest.DSN(t))) }

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, open opener)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, onSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, onPostgres(t)) })
}

// each gives a suite a new database for each of its parts.
func each(t *testing.T, suite func(t *testing.T, fresh func(testing.TB) *storage.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		suite(t, func(t testing.TB) *storage.DB { return onSQLite(t)(t, storage.Options{}) })
	})
	t.Run("postgres", func(t *testing.T) {
		suite(t, func(t testing.TB) *storage.DB { return onPostgres(t)(t, storage.Options{}) })
	})
}
