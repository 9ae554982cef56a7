package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

func fail(t *testing.T, s *accounts.Service, from string) error {
	t.Helper()
	_, err := s.Login(t.Context(), "anna", "wrong", from)
	require.Error(t, err)
	return err
}

// A password that was typed as the name must not stand in the log.
func TestTheLogHasNoNameThatNobodyHas(t *testing.T) {
	var log strings.Builder
	s := withAnna(t, accounts.NewMemory(), accounts.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.ErrorIs(t, fail(t, s, remote), accounts.ErrCredentials)
	require.Contains(t, log.String(), `msg="login failed" account=anna`)
	_, err := s.Login(t.Context(), "Sommer2026", "anna", remote)
	require.ErrorIs(t, err, accounts.ErrCredentials)
	require.Contains(t, log.String(), "account=(unknown)")
	require.NotContains(t, strings.ToLower(log.String()), "sommer")
}

func TestRepeatedFailuresAreSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{})
		for range 5 {
			require.ErrorIs(t, fail(t, s, remote), accounts.ErrCredentials)
		}
		for i := range 12 {
			require.ErrorIs(t, fail(t, s, remote), accounts.ErrCredentials)
			want := min(time.Second<<i, 5*time.Minute)
			err := fail(t, s, remote)
			require.ErrorIs(t, err, accounts.ErrTooManyLogins)
			require.Equal(t, want, accounts.RetryAfter(err))
			_, err = s.Login(t.Context(), "anna", password, remote)
			require.ErrorIs(t, err, accounts.ErrTooManyLogins, "the right password is not looked at either")
			_, err = s.Login(t.Context(), "anna", password, "198.51.100.1:1")
			require.NoError(t, err, "another address is not slowed")
			_, err = s.Login(t.Context(), fmt.Sprintf("bert%d", i), password, remote)
			require.NotErrorIs(t, err, accounts.ErrTooManyLogins, "another account is not slowed")
			time.Sleep(want)
		}
	})
}

func TestSuccessAndTimeForgiveFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{})
		for range 3 {
			for range 5 {
				require.ErrorIs(t, fail(t, s, remote), accounts.ErrCredentials)
			}
			login(t, s)
		}
		for range 6 {
			require.ErrorIs(t, fail(t, s, remote), accounts.ErrCredentials)
		}
		time.Sleep(31 * time.Minute)
		for range 6 {
			require.ErrorIs(t, fail(t, s, remote), accounts.ErrCredentials)
		}
		require.ErrorIs(t, fail(t, s, remote), accounts.ErrTooManyLogins)
	})
}

func TestAddressesOfOneHostCountTogether(t *testing.T) {
	for name, c := range map[string]struct {
		from func(i int) string
		same bool
	}{
		"ports":              {func(i int) string { return fmt.Sprintf("192.0.2.7:%d", 1000+i) }, true},
		"IPv6 of one /64":    {func(i int) string { return fmt.Sprintf("[2001:db8:1:2::%d]:80", i+1) }, true},
		"IPv6 with zones":    {func(i int) string { return fmt.Sprintf("[fe80::1%%eth%d]:80", i) }, true},
		"IPv4 in IPv6":       {func(i int) string { return [...]string{"192.0.2.7:1", "[::ffff:192.0.2.7]:1", "192.0.2.7"}[i%3] }, true},
		"other IPv4":         {func(i int) string { return fmt.Sprintf("192.0.2.%d:1", i) }, false},
		"other IPv6 nets":    {func(i int) string { return fmt.Sprintf("[2001:db8:1:%d::1]:80", i) }, false},
		"what is no address": {func(int) string { return "@" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := withAnna(t, accounts.NewMemory(), accounts.Options{})
			var err error
			for i := range 7 {
				err = fail(t, s, c.from(i))
			}
			require.Equal(t, c.same, errors.Is(err, accounts.ErrTooManyLogins))
		})
	}
}

// gated is a store that can hold those who look an account up.
type gated struct {
	*accounts.Memory
	gate atomic.Pointer[chan struct{}]
}

func (g *gated) Account(ctx context.Context, name string) (accounts.Account, error) {
	if gate := g.gate.Load(); gate != nil {
		<-*gate
	}
	return g.Memory.Account(ctx, name)
}

func TestGuessesSideBySideGainNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gated{Memory: accounts.NewMemory()}
		s, err := accounts.New(store, store, accounts.Options{Hash: cheap})
		require.NoError(t, err)
		require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Operator))
		for range 6 {
			_ = fail(t, s, remote)
		}
		time.Sleep(time.Second)
		gate := make(chan struct{})
		store.gate.Store(&gate)
		var looked, refused atomic.Int32
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				_, err := s.Login(context.WithoutCancel(t.Context()), "anna", "wrong", remote)
				if errors.Is(err, accounts.ErrCredentials) {
					looked.Add(1)
				} else if errors.Is(err, accounts.ErrTooManyLogins) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait() // all have begun and none is decided
		close(gate)
		wg.Wait()
		require.EqualValues(t, 1, looked.Load())
		require.EqualValues(t, 31, refused.Load())
	})
}

// What is free is free for all attempts at once, also for those that come before any has failed.
func TestFirstGuessesSideBySideGainNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gated{Memory: accounts.NewMemory()}
		s, err := accounts.New(store, store, accounts.Options{Hash: cheap})
		require.NoError(t, err)
		require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Operator))
		gate := make(chan struct{})
		store.gate.Store(&gate)
		var looked, refused atomic.Int32
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				_, err := s.Login(context.WithoutCancel(t.Context()), "anna", "wrong", remote)
				if errors.Is(err, accounts.ErrCredentials) {
					looked.Add(1)
				} else if errors.Is(err, accounts.ErrTooManyLogins) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		require.EqualValues(t, 5, looked.Load())
		require.EqualValues(t, 55, refused.Load())
		login(t, s)
	})
}

// brokenAccounts is a store that cannot give accounts for a while.
type brokenAccounts struct {
	*accounts.Memory
	broken atomic.Bool
}

func (b *brokenAccounts) Account(ctx context.Context, name string) (accounts.Account, error) {
	if b.broken.Load() {
		return accounts.Account{}, errors.New("disk on fire")
	}
	return b.Memory.Account(ctx, name)
}

func TestARefreshThatFailsLeavesTheTokenGood(t *testing.T) {
	store := &brokenAccounts{Memory: accounts.NewMemory()}
	s, err := accounts.New(store, store, accounts.Options{Hash: cheap})
	require.NoError(t, err)
	require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Operator))
	l := login(t, s)
	store.broken.Store(true)
	_, err = s.Refresh(t.Context(), l.RefreshToken)
	require.ErrorContains(t, err, "disk on fire")
	store.broken.Store(false)
	_, err = s.Refresh(t.Context(), l.RefreshToken)
	require.NoError(t, err)
}

func TestAnAttemptThatWasGivenUpDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{})
		for range 6 {
			_ = fail(t, s, remote)
		}
		time.Sleep(time.Second)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Login(gone, "anna", password, remote)
		require.ErrorIs(t, err, context.Canceled)
		login(t, s)
	})
}

func TestManyNamesDoNotWashOutASlowedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{Throttle: accounts.Throttle{MaxEntries: 50}})
		for range 6 {
			_ = fail(t, s, remote)
		}
		for i := range 500 {
			_, err := s.Login(t.Context(), fmt.Sprintf("user%d", i), fmt.Sprintf("wrong%d", i), remote)
			require.ErrorIs(t, err, accounts.ErrCredentials)
		}
		require.ErrorIs(t, fail(t, s, remote), accounts.ErrTooManyLogins)
	})
}
