package accounts_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

func TestOnePasswordOnManyAccountsIsSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{})
		login(t, s) // anna is known at remote
		from := func(i int) string { return fmt.Sprintf("192.0.2.%d:1", i+10) }
		for i := range 11 {
			_, err := s.Login(t.Context(), fmt.Sprint("user", i), "Summer2026!", from(i))
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
		for i := range 8 {
			_, err := s.Login(t.Context(), fmt.Sprint("other", i), "Summer2026!", from(20+i))
			require.ErrorIs(t, err, accounts.ErrTooManyLogins, "from whatever address")
			require.Equal(t, time.Second<<i, accounts.RetryAfter(err))
			_, err = s.Login(t.Context(), "anna", "Summer2026!", from(40+i))
			require.ErrorIs(t, err, accounts.ErrTooManyLogins, "an account that exists gets the same answer")
			_, err = s.Login(t.Context(), fmt.Sprint("other", i), fmt.Sprint("another one", i), from(60+i))
			require.ErrorIs(t, err, accounts.ErrCredentials, "another password is not slowed")
			time.Sleep(time.Second << i)
			_, err = s.Login(t.Context(), fmt.Sprint("next", i), "Summer2026!", from(80+i))
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
		// The password of somebody is tried on others: who is known where it comes from is not slowed.
		for i := range 11 {
			_, err := s.Login(t.Context(), fmt.Sprint("user", i), password, from(100+i))
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
		_, err := s.Login(t.Context(), "anna", password, "198.51.100.9:1")
		require.ErrorIs(t, err, accounts.ErrTooManyLogins)
		login(t, s)
		time.Sleep(31 * time.Minute)
		_, err = s.Login(t.Context(), "anna", password, "198.51.100.9:1")
		require.NoError(t, err, "it is forgotten")
	})
}

func TestOneAccountAloneIsNoSpray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{})
		for i := range 40 {
			_, err := s.Login(t.Context(), "anna", "wrong", fmt.Sprintf("192.0.2.%d:1", i))
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
	})
}

func TestSprayedSideBySideGainsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gated{Memory: accounts.NewMemory()}
		s, err := accounts.New(store, store, accounts.Options{Hash: cheap})
		require.NoError(t, err)
		gate := make(chan struct{})
		store.gate.Store(&gate)
		var looked atomic.Int32
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				_, err := s.Login(t.Context(), fmt.Sprint("user", i), "Summer2026!", fmt.Sprintf("192.0.2.%d:1", i))
				if errors.Is(err, accounts.ErrCredentials) {
					looked.Add(1)
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		require.LessOrEqual(t, looked.Load(), int32(40))
	})
}
