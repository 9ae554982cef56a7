package accounts_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
)

func TestSessions(t *testing.T) {
	now := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	s := withAnna(t, accounts.NewMemory(), accounts.Options{Now: func() time.Time { return now }, RefreshTTL: time.Hour})
	require.NoError(t, s.Add(t.Context(), "bert", password, accounts.Viewer))
	first := login(t, s)
	now = now.Add(time.Minute)
	second := login(t, s)
	berts, err := s.Login(t.Context(), "bert", password, "2001:db8::7")
	require.NoError(t, err)
	now = now.Add(time.Minute)
	_, err = s.Refresh(t.Context(), first.RefreshToken)
	require.NoError(t, err)

	all, err := s.Sessions(t.Context(), "ANNA")
	require.NoError(t, err)
	require.Equal(t, []accounts.Session{
		{ID: second.Session.ID, Account: "anna", Address: "192.0.2.7", CreatedAt: now.Add(-time.Minute), ExpiresAt: now.Add(59 * time.Minute)},
		{ID: first.Session.ID, Account: "anna", Address: "192.0.2.7", CreatedAt: now.Add(-2 * time.Minute), RefreshedAt: now, ExpiresAt: now.Add(time.Hour)},
	}, all)
	all, err = s.Sessions(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 3)

	require.ErrorIs(t, s.EndSession(t.Context(), "anna", berts.Session.ID), accounts.ErrSessionNotFound)
	require.ErrorIs(t, s.EndSession(t.Context(), "", "none"), accounts.ErrSessionNotFound)
	require.ErrorIs(t, s.EndSession(t.Context(), "", "a b"), accounts.ErrSessionNotFound)
	_, err = s.SessionInfo(t.Context(), berts.Session.ID)
	require.NoError(t, err)
	require.NoError(t, s.EndSession(t.Context(), "Anna", second.Session.ID))
	require.ErrorIs(t, s.EndSession(t.Context(), "anna", second.Session.ID), accounts.ErrSessionNotFound, "it has ended")
	_, err = s.SessionInfo(t.Context(), second.Session.ID)
	require.ErrorIs(t, err, accounts.ErrSessionEnded)
	require.NoError(t, s.EndSession(t.Context(), "", berts.Session.ID))

	third := login(t, s)
	require.NoError(t, s.EndSessions(t.Context(), "anna", third.Session.ID))
	all, err = s.Sessions(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, third.Session.ID, all[0].ID)
	now = now.Add(2 * time.Hour)
	all, err = s.Sessions(t.Context(), "anna")
	require.NoError(t, err)
	require.Empty(t, all, "it has expired")
}

func TestLoginEvents(t *testing.T) {
	var events []accounts.LoginEvent
	s := withAnna(t, accounts.NewMemory(), accounts.Options{OnLogin: func(_ context.Context, e accounts.LoginEvent) { events = append(events, e) }})
	opened, err := s.Login(t.Context(), "ANNA", password, remote)
	require.NoError(t, err)
	for range 7 {
		_, err = s.Login(t.Context(), "Anna", "guess", remote)
		require.Error(t, err)
	}
	_, err = s.Login(t.Context(), "my secret passphrase", "guess", remote)
	require.ErrorIs(t, err, accounts.ErrCredentials)

	require.Len(t, events, 9)
	require.Equal(t, accounts.LoginEvent{Account: "anna", Role: accounts.Operator, Address: "192.0.2.7", Session: opened.Session.ID}, events[0])
	require.Equal(t, accounts.LoginEvent{Account: "anna", Address: "192.0.2.7", Err: accounts.ErrCredentials}, events[1])
	require.ErrorIs(t, events[7].Err, accounts.ErrTooManyLogins)
	require.Equal(t, accounts.LoginEvent{Address: "192.0.2.7", Err: accounts.ErrCredentials}, events[8], "an unknown name may be a password")
}
