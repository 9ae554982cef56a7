package devicestore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicestest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

func TestStore(t *testing.T) {
	on := func(open func(t testing.TB) (*storage.DB, error)) func(*testing.T) {
		return func(t *testing.T) {
			newStore := func(t testing.TB) devices.SharedStore {
				db, err := open(t)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
				s, err := devicestore.New(db)
				require.NoError(t, err)
				return s
			}
			devicestest.TestStore(t, func(t testing.TB) devices.Store { return newStore(t) })
			devicestest.TestSharedStore(t, newStore)
		}
	}
	t.Run("sqlite", on(func(t testing.TB) (*storage.DB, error) {
		return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, devicestore.Schema())
	}))
	t.Run("postgres", on(func(t testing.TB) (*storage.DB, error) {
		return postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, devicestore.Schema())
	}))
}

// A transaction that hangs, with its process, until another engine has the devices cannot commit, and does not hold that engine up.
func TestATransactionThatHangsDoesNotCommit(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, devicestore.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	s, err := devicestore.New(db)
	require.NoError(t, err)
	require.NoError(t, s.AddDevice(t.Context(), devices.Device{ID: "agv", Name: "AGV", State: devices.Idle, StopLatched: true}))
	late, err := s.Fence(t.Context(), 1)
	require.NoError(t, err)
	calls := 0
	err = late.UpdateDevice(t.Context(), "agv", func(d *devices.Device) error {
		if calls++; calls == 1 {
			_, err := s.Fence(t.Context(), 2) // while this transaction has the table locked
			require.NoError(t, err)
		}
		d.StopLatched = false
		return nil
	})
	require.ErrorIs(t, err, devices.ErrNotOwner)
	all, err := s.Devices(t.Context())
	require.NoError(t, err)
	require.True(t, all[0].StopLatched)
}
