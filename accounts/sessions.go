package accounts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/otkit/otkit/fault"
)

// Sessions returns the sessions of an account that have neither ended nor expired, newest first; those of all accounts if
// account is empty. RefreshHash is empty.
func (s *Service) Sessions(ctx context.Context, account string) ([]Session, error) {
	all, err := s.sessions.Sessions(ctx, account)
	if err != nil {
		return nil, err
	}
	now := s.opts.Now()
	all = slices.DeleteFunc(all, func(one Session) bool { return !one.alive(now) })
	for i := range all {
		all[i].RefreshHash = nil
	}
	slices.SortFunc(all, func(a, b Session) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return all, nil
}

// Session returns a session that has neither ended nor expired, without RefreshHash, or [ErrSessionNotFound].
func (s *Service) Session(ctx context.Context, id string) (Session, error) {
	if !validSessionID(id) {
		return Session{}, ErrSessionNotFound
	}
	one, err := s.sessions.Session(ctx, id)
	if err == nil && !one.alive(s.opts.Now()) {
		err = ErrSessionNotFound
	}
	if err != nil {
		return Session{}, err
	}
	one.RefreshHash = nil
	return one, nil
}

// EndSession ends a session of an account, of any account if account is empty. It returns [ErrSessionNotFound] if there is
// no such session, or it has ended.
func (s *Service) EndSession(ctx context.Context, account, id string) error {
	if !validSessionID(id) {
		return ErrSessionNotFound
	}
	now := s.opts.Now().UTC()
	var owner string
	err := s.sessions.UpdateSession(ctx, id, func(one *Session) error {
		if account != "" && FoldName(one.Account) != FoldName(account) || !one.alive(now) {
			return ErrSessionNotFound
		}
		one.EndedAt, owner = now, one.Account
		return nil
	})
	if err != nil {
		return err
	}
	s.live.drop(id)
	s.opts.Logger.InfoContext(ctx, "session ended", "account", owner, "session", id)
	return nil
}

// EndSessions ends every session of an account, except the one with the id keep, if keep is not empty.
func (s *Service) EndSessions(ctx context.Context, account, keep string) error {
	defer s.live.dropAccount(account)
	if err := s.sessions.EndSessions(ctx, account, keep, s.opts.Now().UTC()); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// ChangePassword changes the password of the holder of a session, who proves it with the current one, and ends the other
// sessions of the account. remote is the caller's address. A wrong current password counts as a failed login. It returns
// [ErrInvalidAccount] naming currentPassword or newPassword, [ErrSessionEnded], or [ErrTooManyLogins].
func (s *Service) ChangePassword(ctx context.Context, sessionID, current, password, remote string) error {
	holder, err := s.SessionInfo(ctx, sessionID)
	if err != nil {
		return err
	}
	from := pair{account: FoldName(holder.Account), address: addressOf(remote)}
	if err := s.throttle.begin(from.key()); err != nil {
		return err
	}
	result := undecided
	defer func() { s.decided(from, result) }()

	at := place{address: from.address, rank: familiar}
	switch _, err := s.authenticate(ctx, at, holder.Account, current); {
	case errors.Is(err, ErrCredentials):
		result = wrong
		s.opts.Logger.WarnContext(ctx, "password change failed: current password is wrong", "account", holder.Account, "remote", from.address)
		return ErrInvalidAccount.Invalid(fault.Field{Field: "currentPassword", Message: "is wrong"})
	case err != nil:
		return err
	}
	result = right
	err = s.setPassword(ctx, at, holder.Account, password, sessionID)
	if f, ok := fault.From(err); ok && errors.Is(err, ErrInvalidAccount) {
		fields := slices.Clone(f.Fields)
		for i := range fields {
			fields[i].Field = "newPassword"
		}
		return ErrInvalidAccount.Invalid(fields...)
	}
	return err
}

// hostOf returns the host of an address with or without a port.
func hostOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}
