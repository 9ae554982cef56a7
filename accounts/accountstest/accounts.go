package accountstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

var errRefused = errors.New("update refused")

func testAccountRoundTrip(t *testing.T, s Store) {
	add(t, s, "Anna.B_1@plant-2")
	got, err := s.Account(t.Context(), "Anna.B_1@plant-2")
	require.NoError(t, err)
	sameAccount(t, account("Anna.B_1@plant-2"), got)

	require.NoError(t, s.UpdateAccount(t.Context(), "Anna.B_1@plant-2", func(a *accounts.Account) error {
		sameAccount(t, account("Anna.B_1@plant-2"), *a)
		a.Role, a.PasswordHash, a.UpdatedAt = accounts.Admin, "$argon2id$other", at.Add(2*time.Hour)
		return nil
	}))
	want := account("Anna.B_1@plant-2")
	want.Role, want.PasswordHash, want.UpdatedAt = accounts.Admin, "$argon2id$other", at.Add(2*time.Hour)
	got, err = s.Account(t.Context(), "Anna.B_1@plant-2")
	require.NoError(t, err)
	sameAccount(t, want, got)
}

func testNamesIgnoreCase(t *testing.T, s Store) {
	add(t, s, "Anna")
	require.ErrorIs(t, s.AddAccount(t.Context(), account("aNNA")), accounts.ErrAccountExists)

	got, err := s.Account(t.Context(), "ANNA")
	require.NoError(t, err)
	require.Equal(t, "Anna", got.Name, "the spelling of the first day is kept")

	require.NoError(t, s.UpdateAccount(t.Context(), "anna", func(a *accounts.Account) error {
		a.Role = accounts.Viewer
		return nil
	}))
	require.NoError(t, s.AddSession(t.Context(), session("s1", "ANNA")))
	require.NoError(t, s.EndSessions(t.Context(), "anna", "", at))
	ended, err := s.Session(t.Context(), "s1")
	require.NoError(t, err)
	require.False(t, ended.EndedAt.IsZero())
	require.NoError(t, s.RemoveAccount(t.Context(), "AnnA"))
	_, err = s.Account(t.Context(), "Anna")
	require.ErrorIs(t, err, accounts.ErrAccountNotFound)
}

func testUnknownAccount(t *testing.T, s Store) {
	add(t, s, "anna")
	// LIKE patterns and quotes must be nothing but letters of a name.
	for _, name := range []string{"bert", "", "%", "ann_", "anna'--", "anna "} {
		_, err := s.Account(t.Context(), name)
		require.ErrorIs(t, err, accounts.ErrAccountNotFound, "%q", name)
		err = s.UpdateAccount(t.Context(), name, func(*accounts.Account) error {
			t.Errorf("update called for %q", name)
			return nil
		})
		require.ErrorIs(t, err, accounts.ErrAccountNotFound, "%q", name)
		require.ErrorIs(t, s.RemoveAccount(t.Context(), name), accounts.ErrAccountNotFound, "%q", name)
		require.NoError(t, s.EndSessions(t.Context(), name, "", at), "%q", name)
	}
	_, err := s.Account(t.Context(), "anna")
	require.NoError(t, err)
}

func testFailedAccountUpdate(t *testing.T, s Store) {
	add(t, s, "anna")
	err := s.UpdateAccount(t.Context(), "anna", func(a *accounts.Account) error {
		a.Role = accounts.Admin
		return errRefused
	})
	require.ErrorIs(t, err, errRefused)
	got, err := s.Account(t.Context(), "anna")
	require.NoError(t, err)
	sameAccount(t, account("anna"), got)
}

func testNameIsFixed(t *testing.T, s Store) {
	add(t, s, "anna", "bert")
	require.NoError(t, s.UpdateAccount(t.Context(), "anna", func(a *accounts.Account) error {
		a.Name = "bert"
		a.Role = accounts.Admin
		return nil
	}))
	got, err := s.Account(t.Context(), "anna")
	require.NoError(t, err)
	require.Equal(t, "anna", got.Name)
	require.Equal(t, accounts.Admin, got.Role)
	got, err = s.Account(t.Context(), "bert")
	require.NoError(t, err)
	sameAccount(t, account("bert"), got)
}

func testAccountsByName(t *testing.T, s Store) {
	all, err := s.Accounts(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)

	add(t, s, "carl", "Bert", "anna", "_x", "Z1")
	all, err = s.Accounts(t.Context())
	require.NoError(t, err)
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
		sameAccount(t, account(a.Name), a)
	}
	require.Equal(t, []string{"_x", "anna", "Bert", "carl", "Z1"}, names)
}

func testRemoveAccount(t *testing.T, s Store) {
	add(t, s, "anna", "bert")
	require.NoError(t, s.AddSession(t.Context(), session("s1", "anna")))
	require.NoError(t, s.AddSession(t.Context(), session("s2", "anna")))
	require.NoError(t, s.AddSession(t.Context(), session("s3", "bert")))

	require.NoError(t, s.RemoveAccount(t.Context(), "anna"))
	for _, id := range []string{"s1", "s2"} {
		_, err := s.Session(t.Context(), id)
		require.ErrorIs(t, err, accounts.ErrSessionNotFound)
	}
	_, err := s.Session(t.Context(), "s3")
	require.NoError(t, err)

	add(t, s, "anna")
	_, err = s.Session(t.Context(), "s1")
	require.ErrorIs(t, err, accounts.ErrSessionNotFound, "a new account of that name inherits nothing")
}

func testCancelled(t *testing.T, s Store) {
	add(t, s, "anna")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Account(ctx, "anna")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.AddAccount(ctx, account("bert")), context.Canceled)
	require.ErrorIs(t, s.AddSession(ctx, session("s1", "anna")), context.Canceled)
	_, err = s.Account(t.Context(), "bert")
	require.ErrorIs(t, err, accounts.ErrAccountNotFound)
}
