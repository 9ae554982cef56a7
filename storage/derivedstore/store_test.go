package derivedstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/derivedstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/derived/derivedtest"
)

func TestStore(t *testing.T) {
	on := func(open func(t testing.TB) (*storage.DB, error)) func(*testing.T) {
		return func(t *testing.T) {
			derivedtest.TestRepository(t, func(t testing.TB) derived.Repository {
				db, err := open(t)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
				s, err := derivedstore.New(db)
				require.NoError(t, err)
				return s
			})
		}
	}
	t.Run("sqlite", on(func(t testing.TB) (*storage.DB, error) {
		return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, derivedstore.Schema())
	}))
	t.Run("postgres", on(func(t testing.TB) (*storage.DB, error) {
		return postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, derivedstore.Schema())
	}))
}
