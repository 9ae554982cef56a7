package accountstest

import (
	"sync"
	"testing"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

func testChangeAccount(t *testing.T, s Store) {
	add(t, s, "anna", "bert")
	require.NoError(t, s.AddSession(t.Context(), session("a1", "anna")))
	require.NoError(t, s.AddSession(t.Context(), session("b1", "bert")))
	ended := at.Add(5 * time.Hour)
	require.NoError(t, s.ChangeAccount(t.Context(), "ANNA", func(a *accounts.Account, otherAdmins int) (accounts.Effect, error) {
		require.Zero(t, otherAdmins)
		a.Name, a.Role, a.Disabled, a.UpdatedAt = "other", accounts.Admin, true, ended
		return accounts.SignsOut, nil
	}))
	got, err := s.Account(t.Context(), "anna")
	require.NoError(t, err)
	want := account("anna")
	want.Role, want.Disabled, want.UpdatedAt = accounts.Admin, true, ended
	require.True(t, got.LastSignIn.Equal(at), "its session began then")
	got.LastSignIn = time.Time{}
	sameAccount(t, want, got)
	for id, ends := range map[string]bool{"a1": true, "b1": false} {
		one, err := s.Session(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, ends, one.EndedAt.Equal(ended), id)
	}

	require.ErrorIs(t, s.ChangeAccount(t.Context(), "bert", func(a *accounts.Account, otherAdmins int) (accounts.Effect, error) {
		require.Zero(t, otherAdmins, "anna is disabled")
		a.Role = accounts.Admin
		return accounts.Removes, errRefused
	}), errRefused)
	got, err = s.Account(t.Context(), "bert")
	require.NoError(t, err)
	require.Equal(t, accounts.Operator, got.Role)
	require.NoError(t, s.ChangeAccount(t.Context(), "bert", func(*accounts.Account, int) (accounts.Effect, error) { return accounts.Removes, nil }))
	_, err = s.Account(t.Context(), "bert")
	require.ErrorIs(t, err, accounts.ErrAccountNotFound)
	_, err = s.Session(t.Context(), "b1")
	require.ErrorIs(t, err, accounts.ErrSessionNotFound)
	require.ErrorIs(t, s.ChangeAccount(t.Context(), "bert", func(*accounts.Account, int) (accounts.Effect, error) { return accounts.Keep, nil }),
		accounts.ErrAccountNotFound)
}

func testOneAdminIsLeft(t *testing.T, s Store) {
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		one := account(name)
		one.Role = accounts.Admin
		require.NoError(t, s.AddAccount(t.Context(), one))
	}
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			_ = s.ChangeAccount(t.Context(), name, func(_ *accounts.Account, otherAdmins int) (accounts.Effect, error) {
				if otherAdmins == 0 {
					return accounts.Keep, errRefused
				}
				return accounts.Removes, nil
			})
		})
	}
	wg.Wait()
	left, err := s.Accounts(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
}
