package accounts

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// Login is the result of a login: an open session and its tokens.
type Login struct {
	Session      Session
	Account      Account // PasswordHash is empty
	RefreshToken string  // shown once; the store has only its hash
}

// Login opens a session. remote is the caller's address, with or without a port. For an unknown name and for a wrong
// password it returns the same [ErrCredentials] after the same work. After repeated failures of a name from an address, or
// of a password on many names, it returns [ErrTooManyLogins].
//
// Passwords are checked a few at a time. Accounts that had a session from their address lately go first, then by turns one
// of an address from which others had one and one of any other, one address after the other.
func (s *Service) Login(ctx context.Context, name, password, remote string) (Login, error) {
	return s.reportedLogin(ctx, refreshSecret, name, password, remote)
}

func (s *Service) reportedLogin(ctx context.Context, kind secretKind, name, password, remote string) (Login, error) {
	opened, account, err := s.login(ctx, kind, name, password, remote)
	s.opts.OnLogin(ctx, LoginEvent{Account: account, Role: opened.Account.Role, Address: hostOf(remote), Session: opened.Session.ID, Err: err})
	return opened, err
}

// login also returns the name of the account that was tried, if there is one.
func (s *Service) login(ctx context.Context, kind secretKind, name, password, remote string) (_ Login, account string, err error) {
	from := pair{address: addressOf(remote)}
	if ValidName(name) { // other names belong to nobody and share one count
		from.account = FoldName(name)
	}
	at := place{address: from.address, rank: s.met.rank(from)}
	if err := s.throttle.begin(from.key()); err != nil {
		return Login{}, "", err
	}
	result := undecided
	defer func() { s.decided(from, result) }()
	if at.rank != familiar { // so that strangers who try a password cannot slow the one whose it is
		if err := s.spray.begin(password); err != nil {
			return Login{}, "", err
		}
		defer func() { s.spray.end(password, from.account, result) }()
	}

	a, err := s.authenticate(ctx, at, name, password)
	if errors.Is(err, ErrCredentials) {
		result = wrong
		// An unknown name may be a password typed into the wrong field.
		s.opts.Logger.WarnContext(ctx, "login failed", "account", cmp.Or(a.Name, "(unknown)"), "remote", from.address)
	}
	if err != nil {
		return Login{}, a.Name, err
	}
	result = right
	opened, err := s.open(ctx, kind, at, a, password, hostOf(remote))
	if err != nil {
		return Login{}, a.Name, err
	}
	if validateLength(password, opened.Account.Role) != nil {
		s.opts.Logger.WarnContext(ctx, "password is shorter than its role requires; change it", "account", a.Name, "role", opened.Account.Role)
	}
	s.met.meet(from)
	s.opts.Logger.InfoContext(ctx, "login", "account", a.Name, "remote", from.address, "session", opened.Session.ID)
	return opened, a.Name, nil
}

// Seen records that an account uses a session from an address, so that its next login there goes first. Login calls it
// itself.
func (s *Service) Seen(account, remote string) {
	s.met.meet(pair{account: FoldName(account), address: addressOf(remote)})
}

// authenticate returns the account that name and password are of. With ErrCredentials it returns the account of
// that name, if there is one.
func (s *Service) authenticate(ctx context.Context, at place, name, password string) (Account, error) {
	var a Account
	if ValidName(name) { // what else a caller may send is nothing to ask a database about
		var err error
		a, err = s.store.Account(ctx, name)
		if err != nil && !errors.Is(err, ErrAccountNotFound) {
			return Account{}, err
		}
	}
	stored := a.PasswordHash // "" for an unknown account: takes as long and is wrong
	if len(password) > MaxPasswordBytes {
		stored = ""
		password = password[:MaxPasswordBytes]
	}
	ok, stale, err := s.hasher.verify(ctx, at, password, stored)
	if err != nil {
		return Account{}, err
	}
	if !ok || a.Disabled {
		return a, ErrCredentials
	}
	if stale {
		a.PasswordHash = s.rehash(ctx, at, a, password)
	}
	return a, nil
}

// rehash stores the password's hash with today's parameters. Its failure must not fail the login.
func (s *Service) rehash(ctx context.Context, at place, a Account, password string) string {
	hash, err := s.hasher.hash(ctx, at, password)
	if err == nil {
		err = s.store.UpdateAccount(ctx, a.Name, func(now *Account) error {
			if now.PasswordHash == a.PasswordHash { // else it was changed meanwhile, and that stands
				now.PasswordHash = hash
			}
			return nil
		})
	}
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "failed to renew password hash", "account", a.Name, "error", err)
		return a.PasswordHash
	}
	return hash
}

func (s *Service) open(ctx context.Context, kind secretKind, at place, a Account, password, address string) (Login, error) {
	s.sweep(ctx)
	now := s.opts.Now().UTC()
	session := Session{ID: s.opts.NewID(), Account: a.Name, Address: address, CreatedAt: now, ExpiresAt: now.Add(s.opts.RefreshTTL)}
	token, hash, err := s.newSecret(kind, session.ID)
	if err != nil {
		return Login{}, err
	}
	session.RefreshHash = hash
	err = s.sessions.AddSession(ctx, session)
	if errors.Is(err, ErrAccountNotFound) {
		return Login{}, ErrCredentials
	}
	if err != nil {
		return Login{}, err
	}
	// A change of password ends the sessions that it finds; this one may have come just after.
	current, err := s.store.Account(ctx, a.Name)
	if err != nil && !errors.Is(err, ErrAccountNotFound) {
		return Login{}, err
	}
	if current.Disabled {
		return Login{}, errors.Join(ErrCredentials, s.end(context.WithoutCancel(ctx), session.ID))
	}
	if current.PasswordHash != a.PasswordHash {
		ok, _, err := s.hasher.verify(ctx, at, password, current.PasswordHash)
		if err != nil || !ok {
			return Login{}, errors.Join(ErrCredentials, err, s.end(context.WithoutCancel(ctx), session.ID))
		}
	}
	current.PasswordHash = ""
	return Login{Session: session, Account: current, RefreshToken: token}, nil
}

// Refresh exchanges a refresh token for a new one of the same session and extends the session by RefreshTTL. Each token
// can be exchanged once. For a used token, Refresh ends the session and returns [ErrRefreshToken], because one of the two
// holders is a thief (RFC 9700, section 4.14.2).
func (s *Service) Refresh(ctx context.Context, refreshToken string) (Login, error) {
	id, ok := sessionOf(refreshToken)
	if !ok {
		return Login{}, ErrRefreshToken
	}
	// Looking first spares the store a write for every made-up token. What can fail comes before the
	// token is traded: a caller that gets an error still has one that is good.
	var a Account
	session, err := s.sessions.Session(ctx, id)
	if err == nil {
		a, err = s.store.Account(ctx, session.Account)
	}
	if err == nil && a.Disabled {
		err = ErrAccountNotFound
	}
	switch {
	case errors.Is(err, ErrSessionNotFound), errors.Is(err, ErrAccountNotFound):
		return Login{}, ErrRefreshToken
	case err != nil:
		return Login{}, err
	}
	token, hash, err := s.newSecret(refreshSecret, id)
	if err != nil {
		return Login{}, err
	}
	presented := refreshSecret.hash(refreshToken)
	var used bool
	var after Session
	err = s.sessions.UpdateSession(ctx, id, func(now *Session) error {
		at := s.opts.Now().UTC()
		if !now.alive(at) {
			return ErrRefreshToken
		}
		used = subtle.ConstantTimeCompare(presented, now.RefreshHash) != 1
		if used {
			now.EndedAt = at
		} else {
			now.RefreshHash, now.RefreshedAt, now.ExpiresAt = hash, at, at.Add(s.opts.RefreshTTL)
		}
		after = *now
		return nil
	})
	switch {
	case errors.Is(err, ErrSessionNotFound):
		return Login{}, ErrRefreshToken
	case err != nil:
		return Login{}, err
	}
	s.live.drop(id)
	if used {
		s.opts.Logger.WarnContext(ctx, "refresh token reused; session ended", "account", after.Account, "session", id)
		return Login{}, ErrRefreshToken
	}
	a.PasswordHash = ""
	return Login{Session: after, Account: a, RefreshToken: token}, nil
}

// Logout ends a session; its access and refresh tokens are refused from now on. If the session has ended
// or is unknown, Logout returns nil.
func (s *Service) Logout(ctx context.Context, sessionID string) error {
	if err := s.end(ctx, sessionID); err != nil {
		return err
	}
	s.opts.Logger.InfoContext(ctx, "logout", "session", sessionID)
	return nil
}

func (s *Service) end(ctx context.Context, id string) error {
	err := s.sessions.UpdateSession(ctx, id, func(now *Session) error {
		if now.EndedAt.IsZero() {
			now.EndedAt = s.opts.Now().UTC()
		}
		return nil
	})
	s.live.drop(id)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// sweep removes expired sessions, at most once an hour.
func (s *Service) sweep(ctx context.Context) {
	now := s.opts.Now()
	last := s.swept.Load()
	if now.Unix()-last < int64(time.Hour/time.Second) || !s.swept.CompareAndSwap(last, now.Unix()) {
		return
	}
	if err := s.sessions.RemoveSessions(ctx, now.UTC()); err != nil {
		s.opts.Logger.WarnContext(ctx, "failed to remove expired sessions", "error", err)
	}
}

func validSessionID(id string) bool { return ValidName(id) && !strings.Contains(id, ".") }

func (s Session) alive(now time.Time) bool { return s.EndedAt.IsZero() && now.Before(s.ExpiresAt) }
