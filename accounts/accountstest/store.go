package accountstest

import (
	"testing"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

// Store is what the suite tests: both contracts over the same data.
type Store interface {
	accounts.Store
	accounts.SessionStore
}

// TestStore runs the whole suite. newStore returns an empty store each time it is called, and cleans up
// with t.Cleanup.
func TestStore(t *testing.T, newStore func(testing.TB) Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, Store)
	}{
		{"an account comes back as it was stored", testAccountRoundTrip},
		{"names are the same without regard to case", testNamesIgnoreCase},
		{"an unknown account is not found", testUnknownAccount},
		{"a failed update changes nothing", testFailedAccountUpdate},
		{"a name cannot be changed", testNameIsFixed},
		{"accounts are listed by name", testAccountsByName},
		{"removing an account removes its sessions", testRemoveAccount},
		{"a change of an account ends its sessions in the same step", testChangeAccount},
		{"of the admins who are removed simultaneously one is left", testOneAdminIsLeft},
		{"a session comes back as it was stored", testSessionRoundTrip},
		{"a session needs its account", testSessionNeedsAccount},
		{"an unknown session is not found", testUnknownSession},
		{"a failed update leaves a session", testFailedSessionUpdate},
		{"ending an account's sessions ends the live ones", testEndSessions},
		{"sessions are listed by account", testSessions},
		{"expired sessions are removed", testRemoveSessions},
		{"a cancelled context ends a call", testCancelled},
		{"of many that add one name a single one wins", testConcurrentAdd},
		{"no account update is lost", testConcurrentAccountUpdates},
		{"of many that rotate one session a single one wins", testConcurrentRotation},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newStore(t)) })
	}
}

// at is a fixed time with the precision that stores must keep: microseconds.
var at = time.Date(2026, 3, 29, 1, 59, 59, 123456000, time.UTC)

func account(name string) accounts.Account {
	return accounts.Account{
		Name: name, PasswordHash: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
		Role: accounts.Operator, CreatedAt: at, UpdatedAt: at.Add(time.Hour),
	}
}

func session(id, name string) accounts.Session {
	return accounts.Session{
		ID: id, Account: name, RefreshHash: []byte{0, 1, 2, 0xff}, Address: "2001:db8::7", CreatedAt: at, ExpiresAt: at.Add(time.Hour),
	}
}

func add(t *testing.T, s Store, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, s.AddAccount(t.Context(), account(name)))
	}
}

func sameAccount(t *testing.T, want, got accounts.Account) {
	t.Helper()
	require.True(t, want.CreatedAt.Equal(got.CreatedAt), "CreatedAt %v, not %v", got.CreatedAt, want.CreatedAt)
	require.True(t, want.UpdatedAt.Equal(got.UpdatedAt), "UpdatedAt %v, not %v", got.UpdatedAt, want.UpdatedAt)
	got.CreatedAt, got.UpdatedAt = want.CreatedAt, want.UpdatedAt
	require.Equal(t, want, got)
}

func sameSession(t *testing.T, want, got accounts.Session) {
	t.Helper()
	require.True(t, want.CreatedAt.Equal(got.CreatedAt), "CreatedAt %v, not %v", got.CreatedAt, want.CreatedAt)
	require.True(t, want.RefreshedAt.Equal(got.RefreshedAt), "RefreshedAt %v, not %v", got.RefreshedAt, want.RefreshedAt)
	require.Equal(t, want.RefreshedAt.IsZero(), got.RefreshedAt.IsZero(), "RefreshedAt %v, not %v", got.RefreshedAt, want.RefreshedAt)
	require.True(t, want.ExpiresAt.Equal(got.ExpiresAt), "ExpiresAt %v, not %v", got.ExpiresAt, want.ExpiresAt)
	require.Equal(t, want.EndedAt.IsZero(), got.EndedAt.IsZero(), "EndedAt %v, not %v", got.EndedAt, want.EndedAt)
	require.True(t, want.EndedAt.Equal(got.EndedAt), "EndedAt %v, not %v", got.EndedAt, want.EndedAt)
	got.CreatedAt, got.RefreshedAt, got.ExpiresAt, got.EndedAt = want.CreatedAt, want.RefreshedAt, want.ExpiresAt, want.EndedAt
	require.Equal(t, want, got)
}
