package accounts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
)

func TestCommonPasswords(t *testing.T) {
	for _, bad := range []string{
		"password", "Password1", "P@ssw0rd2024!", "passwordpassword", "12345678", "1234567890123", "87654321", "qwertyuiop", "Qwertz123456",
		"asdfghjkl123", "aaaaaaaaaaaa", "abababababab", "abcabcabcabc", "        ", "admin1234", "Administrator1", "administrator!",
		"welcome2026", "Summer2025!!", "plant-operator", "letmein12345", "scada-admin-1", "iloveyou2", "0000000000", "anna-2024", "ANNA.anna.ANNA",
		"changeme1234", "1q2w3e", "trustno1!",
	} {
		err := accounts.ValidatePassword("anna", bad, accounts.Viewer)
		require.ErrorIs(t, err, accounts.ErrInvalidAccount, bad)
	}
	for _, good := range []string{
		"correct horse", "correct horse battery", "83920174650192", "xK9#mQ2$vL5p", "die Pumpe singt leise", "äöüßÄÖÜ€", "another one", "tr0ub4dor&3x",
		"5f4dcc3b5aa7", "gumption-vestibule", "ligatures 7 otters", "日本語のパスワード", "mzfrsgq4",
	} {
		require.NoError(t, accounts.ValidatePassword("anna", good, accounts.Viewer), good)
	}
}

func TestAdminPasswordsAreLonger(t *testing.T) {
	for password, roles := range map[string][]accounts.Role{
		"xK9#mQ2":      nil,
		"xK9#mQ2$vL5":  {accounts.Viewer, accounts.Operator},
		"xK9#mQ2$vL5p": {accounts.Viewer, accounts.Operator, accounts.Admin},
		"äöüßÄÖÜ€áéñ":  {accounts.Viewer, accounts.Operator}, // characters count, not bytes
	} {
		for _, role := range []accounts.Role{accounts.Viewer, accounts.Operator, accounts.Admin} {
			err := accounts.ValidatePassword("bert", password, role)
			require.Equal(t, strings.Contains(join(roles), string(role)), err == nil, "%s %s: %v", password, role, err)
		}
	}
	s := newService(t, accounts.NewMemory(), accounts.Options{})
	require.ErrorIs(t, s.Add(t.Context(), "root1", "xK9#mQ2$vL5", accounts.Admin), accounts.ErrInvalidAccount)
	require.NoError(t, s.Add(t.Context(), "root1", "xK9#mQ2$vL5p", accounts.Admin))
	require.ErrorIs(t, s.SetPassword(t.Context(), "root1", "aK9#mQ2$vL5"), accounts.ErrInvalidAccount)
}

func join(roles []accounts.Role) string {
	var b strings.Builder
	for _, r := range roles {
		b.WriteString(string(r))
	}
	return b.String()
}

func TestChangePassword(t *testing.T) {
	var events []accounts.LoginEvent
	s := withAnna(t, accounts.NewMemory(), accounts.Options{})
	mine, other := login(t, s), login(t, s)
	change := func(current, next string) error {
		return s.ChangePassword(t.Context(), mine.Session.ID, current, next, remote)
	}
	requireField(t, change("wrong one", "a better secret"), "currentPassword")
	requireField(t, change(password, "short"), "newPassword")
	requireField(t, change(password, "password2024"), "newPassword")
	require.ErrorIs(t, s.ChangePassword(t.Context(), "unknown", password, "a better secret", remote), accounts.ErrSessionEnded)
	_, err := s.SessionInfo(t.Context(), other.Session.ID)
	require.NoError(t, err, "what failed ends no session")

	require.NoError(t, change(password, "a better choice"))
	_, err = s.SessionInfo(t.Context(), mine.Session.ID)
	require.NoError(t, err, "the own session stays")
	_, err = s.Refresh(t.Context(), mine.RefreshToken)
	require.NoError(t, err)
	_, err = s.SessionInfo(t.Context(), other.Session.ID)
	require.ErrorIs(t, err, accounts.ErrSessionEnded)
	_, err = s.Login(t.Context(), "anna", password, remote)
	require.ErrorIs(t, err, accounts.ErrCredentials)
	_, err = s.Login(t.Context(), "anna", "a better choice", remote)
	require.NoError(t, err)
	require.Empty(t, events)
}

func requireField(t *testing.T, err error, field string) {
	t.Helper()
	f, ok := fault.From(err)
	require.True(t, ok, "%v", err)
	require.ErrorIs(t, err, accounts.ErrInvalidAccount)
	require.Len(t, f.Fields, 1)
	require.Equal(t, field, f.Fields[0].Field)
}

func TestChangePasswordIsThrottled(t *testing.T) {
	s := withAnna(t, accounts.NewMemory(), accounts.Options{})
	mine := login(t, s)
	for range 5 {
		requireField(t, s.ChangePassword(t.Context(), mine.Session.ID, "guess", "a better choice", remote), "currentPassword")
	}
	err := s.ChangePassword(t.Context(), mine.Session.ID, "guess", "a better choice", remote)
	for range 3 {
		err = s.ChangePassword(t.Context(), mine.Session.ID, password, "a better choice", remote)
	}
	require.ErrorIs(t, err, accounts.ErrTooManyLogins, "a stolen session must not be able to guess the password")
}
