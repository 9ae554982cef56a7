package accountspart

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/plantest"
)

func TestEnginesOfAPlantCountFailedLoginsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plant, store := plantest.New(t), accounts.NewMemory()
		var services []*accounts.Service
		for _, id := range []string{"a", "b"} {
			e := plant.Join(id)
			a, err := New(t.Context(), Options{DataDir: t.TempDir(), Accounts: store, Sessions: store, AdminPassword: "Correct-Horse-7", Cluster: e.Cluster})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, a.Part().Close(context.Background())) })
			e.Start(a.Part())
			_, err = a.EnsureAdmin(t.Context())
			require.NoError(t, err)
			services = append(services, a.Service())
		}
		for range 6 {
			_, err := services[0].Login(t.Context(), "admin", "wrong", "192.0.2.7:1")
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
		synctest.Wait()
		_, err := services[1].Login(t.Context(), "admin", "Correct-Horse-7", "192.0.2.7:2")
		require.ErrorIs(t, err, accounts.ErrTooManyLogins)
		_, err = services[1].Login(t.Context(), "admin", "Correct-Horse-7", "192.0.2.8:1")
		require.NoError(t, err)
	})
}
