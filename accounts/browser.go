package accounts

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"
)

// renewInterval is the least time between two extensions of a browser session. Tabs that renew in between only read.
const renewInterval = time.Minute

// ErrBrowserSession is returned for a secret that is malformed or unknown, or whose session has ended.
var ErrBrowserSession = ErrSessionEnded.Because("sign in again")

// SignIn opens a session for a browser. It is like Login, but Login.RefreshToken is a secret that [Service.Renew] takes any
// number of times, because the tabs of a browser share it. [Service.Refresh] does not take it, and ends the session.
func (s *Service) SignIn(ctx context.Context, name, password, remote string) (Login, error) {
	return s.reportedLogin(ctx, browserSecret, name, password, remote)
}

// Renew returns the session of a secret of [Service.SignIn] and extends it by RefreshTTL, at most once a minute. The secret
// stays good, so that calls may overlap. It returns [ErrBrowserSession]. Login.RefreshToken is empty.
func (s *Service) Renew(ctx context.Context, secret string) (Login, error) {
	session, a, err := s.browserSession(ctx, secret)
	if err != nil {
		return Login{}, err
	}
	if now := s.opts.Now().UTC(); session.ExpiresAt.Before(now.Add(s.opts.RefreshTTL - renewInterval)) {
		err := s.sessions.UpdateSession(ctx, session.ID, func(one *Session) error {
			if !one.alive(now) {
				return ErrBrowserSession
			}
			one.RefreshedAt, one.ExpiresAt = now, now.Add(s.opts.RefreshTTL)
			session = *one
			return nil
		})
		if errors.Is(err, ErrSessionNotFound) {
			err = ErrBrowserSession
		}
		if err != nil {
			return Login{}, err
		}
		s.live.drop(session.ID)
	}
	a.PasswordHash, session.RefreshHash = "", nil
	return Login{Session: session, Account: a}, nil
}

// SignOut ends the session of a secret of [Service.SignIn]. If there is none, SignOut returns nil. remote is the caller's
// address.
func (s *Service) SignOut(ctx context.Context, secret, remote string) error {
	session, a, err := s.browserSession(ctx, secret)
	if errors.Is(err, ErrBrowserSession) {
		return nil
	}
	if err == nil {
		err = s.Logout(ctx, session.ID)
	}
	if err == nil {
		s.opts.OnSignOut(ctx, LoginEvent{Account: a.Name, Role: a.Role, Address: hostOf(remote), Session: session.ID})
	}
	return err
}

// browserSession returns the session of a secret, which has not ended, and its account.
func (s *Service) browserSession(ctx context.Context, secret string) (Session, Account, error) {
	id, ok := sessionOf(secret)
	if !ok {
		return Session{}, Account{}, ErrBrowserSession
	}
	session, err := s.sessions.Session(ctx, id)
	if err == nil && (!session.alive(s.opts.Now()) || subtle.ConstantTimeCompare(browserSecret.hash(secret), session.RefreshHash) != 1) {
		err = ErrSessionNotFound
	}
	var a Account
	if err == nil {
		a, err = s.store.Account(ctx, session.Account)
	}
	if err == nil && a.Disabled {
		err = ErrAccountNotFound
	}
	if errors.Is(err, ErrSessionNotFound) || errors.Is(err, ErrAccountNotFound) {
		err = ErrBrowserSession
	}
	return session, a, err
}
