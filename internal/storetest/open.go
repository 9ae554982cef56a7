package storetest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

// Tryer opens a database again and again: the same one each time.
type Tryer func(ctx context.Context, opts storage.Options, history ...historystore.Options) (*DB, error)

// Opener is a Tryer that must succeed and that closes the database when the test ends.
type Opener func(t testing.TB, opts storage.Options, history ...historystore.Options) *DB

// Must makes an Opener of a Tryer.
func Must(try Tryer) Opener {
	return func(t testing.TB, opts storage.Options, history ...historystore.Options) *DB {
		t.Helper()
		db, err := try(t.Context(), opts, history...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
}

// TrySQLite returns a Tryer of the database in a folder, with the schemas or, without any, those of every domain.
func TrySQLite(dir string, schemas ...storage.Schema) Tryer {
	return func(ctx context.Context, opts storage.Options, history ...historystore.Options) (*DB, error) {
		db, err := sqlite.Open(ctx, sqlite.Options{Options: opts, Dir: dir}, orAll(schemas)...)
		return stores(db, err, history)
	}
}

// TryPostgres is TrySQLite for a PostgreSQL database.
func TryPostgres(dsn string, schemas ...storage.Schema) Tryer {
	return func(ctx context.Context, opts storage.Options, history ...historystore.Options) (*DB, error) {
		db, err := postgres.Open(ctx, postgres.Options{Options: opts, DSN: dsn}, orAll(schemas)...)
		return stores(db, err, history)
	}
}

func orAll(schemas []storage.Schema) []storage.Schema {
	if len(schemas) == 0 {
		return Schemas()
	}
	return schemas
}

func stores(db *storage.DB, err error, history []historystore.Options) (*DB, error) {
	if err != nil {
		return nil, err
	}
	return New(db, append(history, historystore.Options{})[0])
}

// OpenSQLite opens the database in a folder.
func OpenSQLite(t testing.TB, dir string, opts storage.Options, history ...historystore.Options) *DB {
	t.Helper()
	return Must(TrySQLite(dir))(t, opts, history...)
}

// OpenPostgres opens a PostgreSQL database.
func OpenPostgres(t testing.TB, dsn string, opts storage.Options, history ...historystore.Options) *DB {
	t.Helper()
	return Must(TryPostgres(dsn))(t, opts, history...)
}

// Kinds are the kinds of databases.
var Kinds = []string{"sqlite", "postgres"}

// Fresh returns a function that makes a Tryer of one new database with schemas of the caller's choice.
func Fresh(t testing.TB, kind string) func(schemas ...storage.Schema) Tryer {
	t.Helper()
	if kind == "sqlite" {
		dir := t.TempDir()
		return func(schemas ...storage.Schema) Tryer { return TrySQLite(dir, schemas...) }
	}
	dsn := pgtest.DSN(t)
	return func(schemas ...storage.Schema) Tryer { return TryPostgres(dsn, schemas...) }
}

// OnSQLite returns an Opener of a new SQLite database.
func OnSQLite(t testing.TB) Opener { return Must(TrySQLite(t.TempDir())) }

// OnPostgres returns an Opener of a new PostgreSQL database.
func OnPostgres(t testing.TB) Opener { return Must(TryPostgres(pgtest.DSN(t))) }

// OnBoth runs a test on both kinds of databases.
func OnBoth(t *testing.T, test func(t *testing.T, open Opener)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, OnSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, OnPostgres(t)) })
}

// Each runs a suite on both kinds of databases, with a new one for each of its parts.
func Each(t *testing.T, suite func(t *testing.T, fresh func(testing.TB) *DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		suite(t, func(t testing.TB) *DB { return OnSQLite(t)(t, storage.Options{}) })
	})
	t.Run("postgres", func(t *testing.T) {
		suite(t, func(t testing.TB) *DB { return OnPostgres(t)(t, storage.Options{}) })
	})
}

// Reopening is Each for a suite that restarts its store.
func Reopening[S any](t *testing.T, store func(*DB) S, suite func(*testing.T, func(testing.TB) (S, func() S))) {
	t.Helper()
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			suite(t, func(t testing.TB) (S, func() S) {
				open := Must(Fresh(t, kind)())
				db := open(t, storage.Options{})
				return store(db), func() S {
					require.NoError(t, db.Close())
					return store(open(t, storage.Options{}))
				}
			})
		})
	}
}

// Bench returns a database and connections beside it for comparison.
func Bench(b *testing.B, kind string) (*DB, *sql.DB) {
	b.Helper()
	var (
		db   *DB
		bare *sql.DB
		err  error
	)
	if kind == "sqlite" {
		dir := b.TempDir()
		db = OpenSQLite(b, dir, storage.Options{})
		bare, err = sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.StateFile)+"?_busy_timeout=5000&_synchronous=FULL&_txlock=immediate")
		bare.SetMaxOpenConns(1)
	} else {
		dsn := pgtest.DSN(b)
		db = OpenPostgres(b, dsn, storage.Options{})
		bare, err = sql.Open("pgx", dsn)
		bare.SetMaxOpenConns(16)
		bare.SetMaxIdleConns(16)
	}
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, bare.Close()) })
	return db, bare
}
