package accounts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

// pairOf returns two services over one store that tell each other of attempts.
func pairOf(t *testing.T) [2]*accounts.Service {
	store := accounts.NewMemory()
	var both [2]*accounts.Service
	for i := range both {
		o := accounts.Options{OnAttempt: func(a accounts.Attempt) { both[1-i].Note(a) }}
		if i == 0 {
			both[i] = withAnna(t, store, o)
		} else {
			both[i] = newService(t, store, o)
		}
	}
	return both
}

func TestServicesOfOneStoreCountFailuresTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := pairOf(t)
		for n := range 6 {
			require.ErrorIs(t, fail(t, both[n%2], remote), accounts.ErrCredentials)
		}
		for _, s := range both {
			err := fail(t, s, remote)
			require.ErrorIs(t, err, accounts.ErrTooManyLogins)
			require.Equal(t, time.Second, accounts.RetryAfter(err))
			_, err = s.Login(t.Context(), "anna", password, "198.51.100.1:1")
			require.NoError(t, err, "another address is not slowed")
		}
		time.Sleep(time.Second)
		require.ErrorIs(t, fail(t, both[0], remote), accounts.ErrCredentials)
		require.Equal(t, 2*time.Second, accounts.RetryAfter(fail(t, both[1], remote)))
		time.Sleep(2 * time.Second)
		login(t, both[1])
		for range 5 {
			require.ErrorIs(t, fail(t, both[0], remote), accounts.ErrCredentials, "the right password has ended it at both")
		}
	})
}

// Nobody learns from another engine which accounts there are.
func TestServicesCountUnknownNamesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := pairOf(t)
		for range 6 {
			_, err := both[0].Login(t.Context(), "nobody", "wrong", remote)
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
		_, err := both[1].Login(t.Context(), "nobody", "wrong", remote)
		require.ErrorIs(t, err, accounts.ErrTooManyLogins)
		both[1].Note(accounts.Attempt{Key: []byte("short"), Failed: true}) // has no effect
	})
}
