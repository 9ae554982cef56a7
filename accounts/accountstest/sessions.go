package accountstest

import (
	"testing"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

func testSessionRoundTrip(t *testing.T, s Store) {
	add(t, s, "anna")
	want := session("s1", "anna")
	require.NoError(t, s.AddSession(t.Context(), want))
	got, err := s.Session(t.Context(), "s1")
	require.NoError(t, err)
	sameSession(t, want, got)

	got.RefreshHash[0] = 99
	again, err := s.Session(t.Context(), "s1")
	require.NoError(t, err)
	sameSession(t, want, again)

	want.RefreshHash, want.ExpiresAt, want.EndedAt = []byte{7}, at.Add(3*time.Hour), at.Add(time.Minute)
	want.RefreshedAt = at.Add(2 * time.Hour)
	require.NoError(t, s.UpdateSession(t.Context(), "s1", func(s *accounts.Session) error {
		s.RefreshHash, s.ExpiresAt, s.EndedAt, s.RefreshedAt = want.RefreshHash, want.ExpiresAt, want.EndedAt, want.RefreshedAt
		return nil
	}))
	got, err = s.Session(t.Context(), "s1")
	require.NoError(t, err)
	sameSession(t, want, got)
}

func testSessionNeedsAccount(t *testing.T, s Store) {
	require.ErrorIs(t, s.AddSession(t.Context(), session("s1", "nobody")), accounts.ErrAccountNotFound)
	_, err := s.Session(t.Context(), "s1")
	require.ErrorIs(t, err, accounts.ErrSessionNotFound)
}

func testUnknownSession(t *testing.T, s Store) {
	for _, id := range []string{"", "s1", "'", "%"} {
		_, err := s.Session(t.Context(), id)
		require.ErrorIs(t, err, accounts.ErrSessionNotFound, "%q", id)
		err = s.UpdateSession(t.Context(), id, func(*accounts.Session) error {
			t.Errorf("update called for %q", id)
			return nil
		})
		require.ErrorIs(t, err, accounts.ErrSessionNotFound, "%q", id)
	}
}

func testFailedSessionUpdate(t *testing.T, s Store) {
	add(t, s, "anna")
	require.NoError(t, s.AddSession(t.Context(), session("s1", "anna")))
	err := s.UpdateSession(t.Context(), "s1", func(s *accounts.Session) error {
		s.RefreshHash[0] = 99
		s.EndedAt = at
		return errRefused
	})
	require.ErrorIs(t, err, errRefused)
	got, err := s.Session(t.Context(), "s1")
	require.NoError(t, err)
	sameSession(t, session("s1", "anna"), got)
}

func testEndSessions(t *testing.T, s Store) {
	add(t, s, "anna", "bert")
	early := session("s1", "anna")
	early.EndedAt = at.Add(-time.Hour)
	live, other, kept := session("s2", "anna"), session("s3", "bert"), session("s4", "anna")
	for _, one := range []accounts.Session{early, live, other, kept} {
		require.NoError(t, s.AddSession(t.Context(), one))
	}
	require.NoError(t, s.EndSessions(t.Context(), "anna", "s4", at))

	live.EndedAt = at
	for _, want := range []accounts.Session{early, live, other, kept} {
		got, err := s.Session(t.Context(), want.ID)
		require.NoError(t, err)
		sameSession(t, want, got)
	}
}

func testRemoveSessions(t *testing.T, s Store) {
	add(t, s, "anna")
	for id, expires := range map[string]time.Time{
		"before": at.Add(-time.Microsecond), "exactly": at, "after": at.Add(time.Microsecond),
	} {
		one := session(id, "anna")
		one.ExpiresAt = expires
		require.NoError(t, s.AddSession(t.Context(), one))
	}
	require.NoError(t, s.RemoveSessions(t.Context(), at))
	_, err := s.Session(t.Context(), "before")
	require.ErrorIs(t, err, accounts.ErrSessionNotFound)
	for _, id := range []string{"exactly", "after"} {
		_, err = s.Session(t.Context(), id)
		require.NoError(t, err)
	}
}

func testSessions(t *testing.T, s Store) {
	add(t, s, "Anna", "bert")
	ended := session("s2", "ANNA")
	ended.EndedAt = at
	for _, one := range []accounts.Session{session("s1", "anna"), ended, session("s3", "bert")} {
		require.NoError(t, s.AddSession(t.Context(), one))
	}
	for account, want := range map[string][]string{"": {"s1", "s2", "s3"}, "anna": {"s1", "s2"}, "BERT": {"s3"}, "carl": nil, "%": nil} {
		all, err := s.Sessions(t.Context(), account)
		require.NoError(t, err)
		var ids []string
		for _, one := range all {
			ids = append(ids, one.ID)
			stored, err := s.Session(t.Context(), one.ID)
			require.NoError(t, err)
			sameSession(t, stored, one)
		}
		require.ElementsMatch(t, want, ids, account)
	}
}
