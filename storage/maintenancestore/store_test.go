package maintenancestore_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/predictivetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

func TestStore(t *testing.T) {
	on := func(open func(t testing.TB) (*storage.DB, error)) func(*testing.T) {
		return func(t *testing.T) {
			predictivetest.TestRecordStore(t, func(t testing.TB) predictive.RecordStore {
				db, err := open(t)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
				s, err := maintenancestore.New(db)
				require.NoError(t, err)
				return s
			})
		}
	}
	t.Run("sqlite", on(onSQLite))
	t.Run("postgres", on(onPostgres))
}

func onSQLite(t testing.TB) (*storage.DB, error) {
	return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, maintenancestore.Schema())
}

func onPostgres(t testing.TB) (*storage.DB, error) {
	return postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, maintenancestore.Schema())
}

func TestPosition(t *testing.T) {
	db, err := onSQLite(t)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	s, err := maintenancestore.New(db)
	require.NoError(t, err)
	for _, seq := range []int64{0, 1 << 40, 7} {
		require.NoError(t, s.SetPosition(t.Context(), seq))
		position, err := s.Position(t.Context())
		require.NoError(t, err)
		require.Equal(t, seq, position)
	}
}

// Engines with different equipment share a store.
func TestEnginesHaveTheirOwnPositions(t *testing.T) {
	for name, open := range map[string]func(testing.TB) (*storage.DB, error){"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			db, err := open(t)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close(context.Background())) }()
			s, err := maintenancestore.New(db)
			require.NoError(t, err)
			require.NoError(t, s.SetPosition(t.Context(), 5)) // when there was one engine
			one, other := s.PositionsOf("one"), s.PositionsOf("other")
			requirePosition(t, 5, one)
			require.NoError(t, other.SetPosition(t.Context(), 9))
			requirePosition(t, 5, one)
			require.NoError(t, other.SetPosition(t.Context(), 7))
			requirePosition(t, 7, other)
			requirePosition(t, 7, s.PositionsOf("new"))
		})
	}
}

// The one engine that records for all goes on where the most advanced one was.
func TestPositionsOfEnginesBecomeOne(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			dir, dsn := t.TempDir(), ""
			if kind == "postgres" {
				dsn = pgtest.DSN(t)
			}
			open := func(schema storage.Schema) (*storage.DB, *maintenancestore.Store) {
				var db *storage.DB
				var err error
				if kind == "postgres" {
					db, err = postgres.Open(t.Context(), postgres.Options{DSN: dsn}, schema)
				} else {
					db, err = sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, schema)
				}
				require.NoError(t, err)
				s, err := maintenancestore.New(db)
				require.NoError(t, err)
				return db, s
			}
			db, s := open(storetest.Earlier(t, maintenancestore.Schema(), 3))
			require.NoError(t, s.SetPosition(t.Context(), 5))
			require.NoError(t, s.PositionsOf("one").SetPosition(t.Context(), 9))
			require.NoError(t, s.PositionsOf("other").SetPosition(t.Context(), 7))
			require.NoError(t, db.Close(context.Background()))
			db, s = open(maintenancestore.Schema())
			defer func() { require.NoError(t, db.Close(context.Background())) }()
			requirePosition(t, 9, s)
		})
	}
}

func requirePosition(t *testing.T, want int64, p alarmfailures.Positions) {
	t.Helper()
	position, err := p.Position(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, position)
}

// A backup of either database fills the other.
func TestBackup(t *testing.T) {
	failure := predictive.Failure{ID: "1", EquipmentID: "pump é", Source: predictive.SourceAlarm, Note: "\"hot\"\n", Start: at, End: at.Add(time.Hour)}
	replacement := predictive.Replacement{ID: "1", EquipmentID: "pump é", Component: "Seal", At: at, Reason: predictive.ReasonPreventive}
	through := func(from, to func(t testing.TB) (*storage.DB, error)) func(*testing.T) {
		return func(t *testing.T) {
			source, err := from(t)
			require.NoError(t, err)
			defer func() { require.NoError(t, source.Close(context.Background())) }()
			s, err := maintenancestore.New(source)
			require.NoError(t, err)
			require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{failure}))
			require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{replacement}))
			require.NoError(t, s.SetPosition(t.Context(), 42))
			var archive bytes.Buffer
			require.NoError(t, source.Backup(t.Context(), &archive, storage.BackupOptions{}))

			target, err := to(t)
			require.NoError(t, err)
			defer func() { require.NoError(t, target.Close(context.Background())) }()
			require.NoError(t, storage.Restore(t.Context(), &archive, target, storage.RestoreOptions{}))
			s, err = maintenancestore.New(target)
			require.NoError(t, err)
			position, err := s.Position(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 42, position)
			f, err := s.Failures(t.Context(), predictive.RecordQuery{})
			require.NoError(t, err)
			require.Equal(t, []predictive.Failure{failure}, f.Items)
			r, err := s.Replacements(t.Context(), predictive.RecordQuery{})
			require.NoError(t, err)
			require.Equal(t, []predictive.Replacement{replacement}, r.Items)
			require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{failure}), "the alarm is known")
		}
	}
	t.Run("sqlite", through(onSQLite, onSQLite))
	t.Run("sqlite to postgres", through(onSQLite, onPostgres))
	t.Run("postgres to sqlite", through(onPostgres, onSQLite))
}

// Texts that a database does not take are stored in a form that it takes, and found by either.
func TestTextsThatNoDatabaseTakes(t *testing.T) {
	db, err := onSQLite(t)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	s, err := maintenancestore.New(db)
	require.NoError(t, err)
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{{ID: "a\x00", EquipmentID: "p\xff", Component: "Seal", At: at}}))
	p, err := s.Replacements(t.Context(), predictive.RecordQuery{EquipmentID: "p\xff"})
	require.NoError(t, err)
	require.Equal(t, []predictive.Replacement{{ID: "a\uFFFD", EquipmentID: "p\uFFFD", Component: "Seal", At: at}}, p.Items)
	require.NoError(t, s.DeleteReplacement(t.Context(), "a\x00"))
}
