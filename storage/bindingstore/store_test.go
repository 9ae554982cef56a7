package bindingstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/discoverytest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

func TestStore(t *testing.T) {
	on := func(open func(t testing.TB) (*storage.DB, error)) func(*testing.T) {
		return func(t *testing.T) {
			discoverytest.TestSharedStore(t, func(t testing.TB) discovery.SharedStore {
				db, err := open(t)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
				s, err := bindingstore.New(db)
				require.NoError(t, err)
				return s
			})
		}
	}
	t.Run("sqlite", on(func(t testing.TB) (*storage.DB, error) {
		return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, bindingstore.Schema())
	}))
	t.Run("postgres", on(func(t testing.TB) (*storage.DB, error) {
		return postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, bindingstore.Schema())
	}))
}
