package driverstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/driverstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/drivers/driverstest"
)

func TestStore(t *testing.T) {
	on := func(open func(t testing.TB) (*storage.DB, error)) func(*testing.T) {
		return func(t *testing.T) {
			driverstest.TestRepository(t, func(t testing.TB) drivers.Repository {
				db, err := open(t)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
				s, err := driverstore.New(db)
				require.NoError(t, err)
				return s
			})
		}
	}
	t.Run("sqlite", on(func(t testing.TB) (*storage.DB, error) {
		return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, driverstore.Schema())
	}))
	t.Run("postgres", on(func(t testing.TB) (*storage.DB, error) {
		return postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, driverstore.Schema())
	}))
}
