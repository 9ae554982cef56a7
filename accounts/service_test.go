package accounts_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/fault"
	"github.com/stretchr/testify/require"
)

const (
	password = "correct horse"
	remote   = "192.0.2.7:52011"
)

// cheap keeps hashing out of the way of tests that are about something else.
var cheap = accounts.HashParams{MemoryKiB: 8, Passes: 1}

func newService(t testing.TB, store *accounts.Memory, opts accounts.Options) *accounts.Service {
	t.Helper()
	if opts.Hash.MemoryKiB == 0 {
		opts.Hash.MemoryKiB, opts.Hash.Passes = cheap.MemoryKiB, cheap.Passes
	}
	s, err := accounts.New(store, store, opts)
	require.NoError(t, err)
	return s
}

func TestAddSaysEverythingThatIsWrong(t *testing.T) {
	s := newService(t, accounts.NewMemory(), accounts.Options{})
	err := s.Add(t.Context(), "anna b", "", "Owner")
	require.ErrorIs(t, err, accounts.ErrInvalidAccount)
	f, _ := fault.From(err)
	var members []string
	for _, field := range f.Fields {
		members = append(members, field.Field)
	}
	require.Equal(t, []string{"username", "role", "password"}, members)
}

func TestPasswordRules(t *testing.T) {
	s := newService(t, accounts.NewMemory(), accounts.Options{})
	require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Viewer))
	for name, bad := range map[string]string{
		"empty": "", "short": "1234567", "seven characters of many bytes": "ääääääï", "too long": strings.Repeat("x", 1025),
		"not UTF-8": "12345678\xff",
	} {
		require.ErrorIs(t, s.SetPassword(t.Context(), "anna", bad), accounts.ErrInvalidAccount, name)
	}
	for name, good := range map[string]string{"eight characters": "äöüßÄÖÜ€", "longest": strings.Repeat("xkQ7", 3) + strings.Repeat("w9z-pLm4", 126) + "vbR2", "blanks count": "h u n t!"} {
		require.NoError(t, s.SetPassword(t.Context(), "anna", good), name)
		_, err := s.Login(t.Context(), "anna", good, remote)
		require.NoError(t, err, name)
	}
	_, err := s.Login(t.Context(), "anna", strings.Repeat("x", 1025), remote)
	require.ErrorIs(t, err, accounts.ErrCredentials)
}

func TestUnknownNameAndWrongPasswordLookTheSame(t *testing.T) {
	s := newService(t, accounts.NewMemory(), accounts.Options{})
	require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Viewer))
	_, wrong := s.Login(t.Context(), "anna", "correct horsE", remote)
	for _, name := range []string{"bert", "", "a\x00b", "\xff", "'; --", strings.Repeat("a", 5000)} {
		_, unknown := s.Login(t.Context(), name, password, remote)
		require.ErrorIs(t, unknown, accounts.ErrCredentials, "%q", name)
		require.Equal(t, wrong, unknown, "%q", name)
	}
}

func TestEnsureAdmin(t *testing.T) {
	s := newService(t, accounts.NewMemory(), accounts.Options{})
	made, err := s.EnsureAdmin(t.Context(), "admin", "")
	require.NoError(t, err)
	require.Len(t, made, 24)
	login, err := s.Login(t.Context(), "admin", made, remote)
	require.NoError(t, err)
	require.Equal(t, accounts.Admin, login.Account.Role)

	again, err := s.EnsureAdmin(t.Context(), "admin", "another password")
	require.NoError(t, err)
	require.Empty(t, again)
	_, err = s.Login(t.Context(), "admin", "another password", remote)
	require.ErrorIs(t, err, accounts.ErrCredentials, "an existing account keeps its password")

	given := newService(t, accounts.NewMemory(), accounts.Options{})
	made, err = given.EnsureAdmin(t.Context(), "root", "given by settings")
	require.NoError(t, err)
	require.Empty(t, made)
	_, err = given.Login(t.Context(), "root", "given by settings", remote)
	require.NoError(t, err)

	_, err = newService(t, accounts.NewMemory(), accounts.Options{}).EnsureAdmin(t.Context(), "root", "short")
	require.ErrorIs(t, err, accounts.ErrInvalidAccount)
}

func TestListHidesHashes(t *testing.T) {
	s := newService(t, accounts.NewMemory(), accounts.Options{})
	require.NoError(t, s.Add(t.Context(), "bert", password, accounts.Viewer))
	require.NoError(t, s.Add(t.Context(), "Anna", password, accounts.Admin))
	all, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "Anna", all[0].Name)
	require.Empty(t, all[0].PasswordHash+all[1].PasswordHash)
}

func TestChangedParametersRehashAtLogin(t *testing.T) {
	store := accounts.NewMemory()
	before := newService(t, store, accounts.Options{})
	require.NoError(t, before.Add(t.Context(), "anna", password, accounts.Viewer))
	old, err := store.Account(t.Context(), "anna")
	require.NoError(t, err)
	require.Contains(t, old.PasswordHash, "$argon2id$v=19$m=8,t=1,p=1$")

	after := newService(t, store, accounts.Options{Hash: accounts.HashParams{MemoryKiB: 64, Passes: 2}})
	_, err = after.Login(t.Context(), "anna", "wrong", remote)
	require.Error(t, err)
	same, err := store.Account(t.Context(), "anna")
	require.NoError(t, err)
	require.Equal(t, old, same, "only the right password renews the hash")
	_, err = after.Login(t.Context(), "anna", password, remote)
	require.NoError(t, err)
	renewed, err := store.Account(t.Context(), "anna")
	require.NoError(t, err)
	require.Contains(t, renewed.PasswordHash, "$argon2id$v=19$m=64,t=2,p=1$")
	_, err = after.Login(t.Context(), "anna", password, remote)
	require.NoError(t, err)
}

func TestDefaultHashMeetsOWASP(t *testing.T) {
	store := accounts.NewMemory()
	s, err := accounts.New(store, store, accounts.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Viewer))
	a, err := store.Account(t.Context(), "anna")
	require.NoError(t, err)
	require.Regexp(t, `^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`, a.PasswordHash)
}

func TestDamagedHashRefusesLogin(t *testing.T) {
	store := accounts.NewMemory()
	s := newService(t, store, accounts.Options{})
	require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Viewer))
	for _, bad := range []string{
		"", password, "$argon2id$", "$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg",
		"$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg",
		"$argon2id$v=19$m=8,t=4000000000,p=1$c2FsdHNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg",
		"$argon2id$v=19$m=8,t=0,p=0$c2FsdHNhbHQ$MDEyMzQ1Njc4OWFiY2RlZg", "$argon2id$v=19$m=8,t=1,p=1$$",
	} {
		require.NoError(t, store.UpdateAccount(t.Context(), "anna", func(a *accounts.Account) error {
			a.PasswordHash = bad
			return nil
		}))
		_, err := newService(t, store, accounts.Options{}).Login(t.Context(), "anna", password, remote)
		require.ErrorIs(t, err, accounts.ErrCredentials, bad)
	}
}

func TestBadOptionsNameTheirField(t *testing.T) {
	store := accounts.NewMemory()
	for field, o := range map[string]accounts.Options{
		"RefreshTTL":          {RefreshTTL: 1},
		"MaxStaleness":        {MaxStaleness: -1},
		"Hash.MemoryKiB":      {Hash: accounts.HashParams{MemoryKiB: 7}},
		"Hash.Passes":         {Hash: accounts.HashParams{Passes: 65}},
		"Hash.MaxConcurrent":  {Hash: accounts.HashParams{MaxConcurrent: -1}},
		"Throttle.ResetAfter": {Throttle: accounts.Throttle{ResetAfter: 1}},
		"Throttle.MaxEntries": {Throttle: accounts.Throttle{MaxEntries: -1}},
	} {
		_, err := accounts.New(store, store, o)
		require.ErrorContains(t, err, field)
	}
	_, err := accounts.New(nil, store, accounts.Options{})
	require.Error(t, err)
}

// failing is a random source that gives nothing.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no entropy") }

func TestNoRandomnessIsAnError(t *testing.T) {
	store := accounts.NewMemory()
	_, err := accounts.New(store, store, accounts.Options{Rand: failing{}})
	require.ErrorContains(t, err, "no entropy")
}

func TestLoginsBeyondTheQueueAreRefused(t *testing.T) {
	s := newService(t, accounts.NewMemory(), accounts.Options{Hash: accounts.HashParams{
		MemoryKiB: 4096, Passes: 4, MaxConcurrent: 1, MaxQueued: 1,
	}})
	var refused, other atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := s.Login(context.WithoutCancel(t.Context()), "anna", password, remote)
			if errors.Is(err, accounts.ErrTooManyLogins) && accounts.RetryAfter(err) > 0 {
				refused.Add(1)
			} else if errors.Is(err, accounts.ErrCredentials) {
				other.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 16, refused.Load()+other.Load())
	require.Positive(t, refused.Load(), "16 at once must not all fit into one running and one waiting")
	require.Positive(t, other.Load())
}

func TestRoles(t *testing.T) {
	require.True(t, accounts.Admin.Includes(accounts.Viewer))
	require.True(t, accounts.Operator.Includes(accounts.Operator))
	require.False(t, accounts.Viewer.Includes(accounts.Operator))
	require.False(t, accounts.Admin.Includes("Owner"))
	require.False(t, accounts.Role("").Includes(""))
	r, ok := accounts.ParseRole("operator")
	require.True(t, ok)
	require.Equal(t, accounts.Operator, r)
	_, ok = accounts.ParseRole("root")
	require.False(t, ok)
}
