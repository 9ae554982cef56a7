package accounts_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

func login(t *testing.T, s *accounts.Service) accounts.Login {
	t.Helper()
	l, err := s.Login(t.Context(), "anna", password, remote)
	require.NoError(t, err)
	return l
}

func withAnna(t *testing.T, store *accounts.Memory, opts accounts.Options) *accounts.Service {
	t.Helper()
	s := newService(t, store, opts)
	require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Operator))
	return s
}

func requireEnded(t *testing.T, s *accounts.Service, l accounts.Login) {
	t.Helper()
	_, err := s.SessionInfo(t.Context(), l.Session.ID)
	require.ErrorIs(t, err, accounts.ErrSessionEnded)
	_, err = s.Refresh(t.Context(), l.RefreshToken)
	require.ErrorIs(t, err, accounts.ErrRefreshToken)
}

func TestRefreshRotates(t *testing.T) {
	store := accounts.NewMemory()
	s := withAnna(t, store, accounts.Options{})
	first := login(t, s)
	second, err := s.Refresh(t.Context(), first.RefreshToken)
	require.NoError(t, err)
	require.Equal(t, first.Session.ID, second.Session.ID)
	require.NotEqual(t, first.RefreshToken, second.RefreshToken)
	require.Equal(t, accounts.Operator, second.Account.Role)
	require.Empty(t, second.Account.PasswordHash)
	third, err := s.Refresh(t.Context(), second.RefreshToken)
	require.NoError(t, err)

	kept, err := store.Session(t.Context(), first.Session.ID)
	require.NoError(t, err)
	require.NotContains(t, string(kept.RefreshHash), third.RefreshToken)

	_, err = s.Refresh(t.Context(), first.RefreshToken)
	require.ErrorIs(t, err, accounts.ErrRefreshToken)
	requireEnded(t, s, third) // a used token came again
}

func TestRefreshRefusesNonsense(t *testing.T) {
	s := withAnna(t, accounts.NewMemory(), accounts.Options{})
	l := login(t, s)
	for _, token := range []string{
		"", ".", "a", "a.b", "\x00.b", "\xff\xfe.b", l.Session.ID, "." + l.RefreshToken,
		strings.Repeat("a", 64) + "." + strings.Repeat("b", 1<<20),
	} {
		_, err := s.Refresh(t.Context(), token)
		require.ErrorIs(t, err, accounts.ErrRefreshToken, "%.40q", token)
	}
	_, err := s.Refresh(t.Context(), l.RefreshToken)
	require.NoError(t, err)
}

func TestOneOfManyRefreshesWins(t *testing.T) {
	s := withAnna(t, accounts.NewMemory(), accounts.Options{})
	l := login(t, s)
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			switch _, err := s.Refresh(context.WithoutCancel(t.Context()), l.RefreshToken); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, accounts.ErrRefreshToken):
				lost.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 31, lost.Load())
}

func TestSessionLivesByRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withAnna(t, accounts.NewMemory(), accounts.Options{RefreshTTL: time.Hour})
		l := login(t, s)
		for range 3 {
			time.Sleep(59 * time.Minute)
			_, err := s.SessionInfo(t.Context(), l.Session.ID)
			require.NoError(t, err)
			l, err = s.Refresh(t.Context(), l.RefreshToken)
			require.NoError(t, err)
		}
		time.Sleep(time.Hour)
		requireEnded(t, s, l)
	})
}

func TestWhatEndsASession(t *testing.T) {
	for name, act := range map[string]func(*accounts.Service, string) error{
		"logout": func(s *accounts.Service, id string) error { return s.Logout(context.Background(), id) },
		"password": func(s *accounts.Service, _ string) error {
			return s.SetPassword(context.Background(), "ANNA", "another one")
		},
		"removal": func(s *accounts.Service, _ string) error { return s.Remove(context.Background(), "ANNA") },
	} {
		t.Run(name+" here, at once", func(t *testing.T) {
			s := withAnna(t, accounts.NewMemory(), accounts.Options{})
			l := login(t, s)
			_, err := s.SessionInfo(t.Context(), l.Session.ID)
			require.NoError(t, err)
			require.NoError(t, act(s, l.Session.ID))
			requireEnded(t, s, l)
		})
		t.Run(name+" by another process, within 5 s", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := accounts.NewMemory()
				s, other := withAnna(t, store, accounts.Options{}), newService(t, store, accounts.Options{})
				l := login(t, s)
				_, err := s.SessionInfo(t.Context(), l.Session.ID)
				require.NoError(t, err)
				require.NoError(t, act(other, l.Session.ID))
				time.Sleep(5 * time.Second)
				requireEnded(t, s, l)
			})
		})
	}
}

func TestRoleFollowsTheAccount(t *testing.T) {
	s := withAnna(t, accounts.NewMemory(), accounts.Options{})
	l := login(t, s)
	for _, role := range []accounts.Role{accounts.Viewer, accounts.Admin} {
		require.NoError(t, s.SetRole(t.Context(), "anna", role))
		live, err := s.SessionInfo(t.Context(), l.Session.ID)
		require.NoError(t, err)
		require.Equal(t, accounts.SessionInfo{Account: "anna", Role: role}, live)
	}
	require.ErrorIs(t, s.SetRole(t.Context(), "anna", "Owner"), accounts.ErrInvalidAccount)
	require.ErrorIs(t, s.SetRole(t.Context(), "bert", accounts.Viewer), accounts.ErrAccountNotFound)
	require.NoError(t, s.Logout(t.Context(), "nobody's"))
}

// A change of password between the check of the old one and the opening of the session must not
// leave a session that was opened with the old password.
func TestPasswordChangedDuringLogin(t *testing.T) {
	store := accounts.NewMemory()
	admin := withAnna(t, store, accounts.Options{})
	s := newService(t, store, accounts.Options{NewID: func() string {
		if err := admin.SetPassword(context.Background(), "anna", "another one"); err != nil {
			t.Error(err)
		}
		return "s1"
	}})
	_, err := s.Login(t.Context(), "anna", password, remote)
	require.ErrorIs(t, err, accounts.ErrCredentials)
	_, err = s.SessionInfo(t.Context(), "s1")
	require.ErrorIs(t, err, accounts.ErrSessionEnded)
}

// outage is a session store that can be made to fail.
type outage struct {
	*accounts.Memory
	down  atomic.Bool
	reads atomic.Int32
}

func (o *outage) Session(ctx context.Context, id string) (accounts.Session, error) {
	o.reads.Add(1)
	if o.down.Load() {
		return accounts.Session{}, errors.New("connection refused")
	}
	return o.Memory.Session(ctx, id)
}

func TestLiveReadsTheStoreSeldomAndOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{Memory: accounts.NewMemory()}
		s, err := accounts.New(store.Memory, store, accounts.Options{Hash: cheap})
		require.NoError(t, err)
		require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Viewer))
		l := login(t, s)
		for range 100 { // 10 s
			_, err := s.SessionInfo(t.Context(), l.Session.ID)
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
		}
		require.EqualValues(t, 2, store.reads.Load())

		store.down.Store(true)
		for range 23 { // as long as an access token can live
			time.Sleep(time.Hour)
			_, err = s.SessionInfo(t.Context(), l.Session.ID)
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Hour)
		_, err = s.SessionInfo(t.Context(), l.Session.ID)
		require.ErrorContains(t, err, "connection refused")
		store.down.Store(false)
		_, err = s.SessionInfo(t.Context(), l.Session.ID)
		require.NoError(t, err)
	})
}

// slow is a session store whose reading can be held after it has read.
type slow struct {
	*accounts.Memory
	holding chan chan struct{} // takes the channel that lets the reading go on
}

func (s *slow) Session(ctx context.Context, id string) (accounts.Session, error) {
	read, err := s.Memory.Session(ctx, id)
	select {
	case release := <-s.holding:
		<-release
	default:
	}
	return read, err
}

// What was read before a logout must not be believed after it.
func TestReadingThatIsOvertakenByALogout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Memory: accounts.NewMemory(), holding: make(chan chan struct{}, 1)}
		s, err := accounts.New(store.Memory, store, accounts.Options{Hash: cheap})
		require.NoError(t, err)
		require.NoError(t, s.Add(t.Context(), "anna", password, accounts.Viewer))
		l := login(t, s)
		release := make(chan struct{})
		store.holding <- release
		go func() { _, _ = s.SessionInfo(t.Context(), l.Session.ID) }()
		synctest.Wait() // it has read the session, and waits
		require.NoError(t, s.Logout(t.Context(), l.Session.ID))
		_, err = s.SessionInfo(t.Context(), l.Session.ID)
		require.ErrorIs(t, err, accounts.ErrSessionEnded)
		close(release)
		synctest.Wait()
		_, err = s.SessionInfo(t.Context(), l.Session.ID)
		require.ErrorIs(t, err, accounts.ErrSessionEnded)
	})
}

func BenchmarkLive(b *testing.B) {
	store := accounts.NewMemory()
	s := newService(b, store, accounts.Options{})
	require.NoError(b, s.Add(b.Context(), "anna", password, accounts.Viewer))
	l, err := s.Login(b.Context(), "anna", password, remote)
	require.NoError(b, err)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.SessionInfo(b.Context(), l.Session.ID); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkLogin(b *testing.B) {
	store := accounts.NewMemory()
	s, err := accounts.New(store, store, accounts.Options{})
	require.NoError(b, err)
	require.NoError(b, s.Add(b.Context(), "anna", password, accounts.Viewer))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Login(b.Context(), "anna", password, remote); err != nil {
			b.Fatal(err)
		}
	}
}
