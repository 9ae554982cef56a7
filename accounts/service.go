package accounts

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
	"golang.org/x/sync/singleflight"
)

// Service manages accounts and sessions. Safe for concurrent use. It starts no goroutines and needs no closing. Several services, also of several processes, may share a store.
type Service struct {
	store    Store
	sessions SessionStore
	opts     Options
	hasher   *hasher
	throttle *throttle
	spray    *spray
	met      *acquaintances
	live     liveSessions
	reading  singleflight.Group
	swept    atomic.Int64 // Unix seconds of the last removal of expired sessions
}

// New returns a service. An error names the dependency that is missing or the option that is out of range.
func New(store Store, sessions SessionStore, opts Options) (*Service, error) {
	switch {
	case store == nil:
		return nil, errors.New("accounts: store is required")
	case sessions == nil:
		return nil, errors.New("accounts: sessions are required")
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h, err := newHasher(opts.Hash, opts.Rand)
	if err != nil {
		return nil, err
	}
	s := &Service{store: store, sessions: sessions, opts: opts, hasher: h}
	s.throttle = newThrottle(opts.Throttle, opts.Now)
	s.spray = newSpray(opts.Throttle, opts.Now)
	s.met = newAcquaintances(opts.Now)
	s.live.byID = make(map[string]*liveSession)
	return s, nil
}

// Add adds an account. It returns [ErrInvalidAccount] naming each bad member, or [ErrAccountExists].
func (s *Service) Add(ctx context.Context, name, password string, role Role) error {
	_, err := s.Create(ctx, name, Change{Role: role, Password: password})
	return err
}

// Create adds an account like Add, which may be disabled, and returns it without its password hash. Change.If is not called.
func (s *Service) Create(ctx context.Context, name string, c Change) (Account, error) {
	password, role := c.Password, c.Role
	var fields []fault.Field
	if !ValidName(name) {
		fields = append(fields, fault.Field{Field: "username", Message: "must be 1 to 64 of the letters a to z, digits and ._@-"})
	}
	if !role.Valid() {
		fields = append(fields, roleRule)
	}
	if f, ok := fault.From(ValidatePassword(name, password, role)); ok {
		fields = append(fields, f.Fields...)
	}
	if len(fields) > 0 {
		return Account{}, ErrInvalidAccount.Invalid(fields...)
	}
	hash, err := s.hasher.hash(ctx, ours, password)
	if err != nil {
		return Account{}, err
	}
	now := s.opts.Now().UTC().Truncate(time.Microsecond)
	a := Account{Name: name, PasswordHash: hash, Role: role, Disabled: c.Disabled != nil && *c.Disabled, CreatedAt: now, UpdatedAt: now}
	if err := s.store.AddAccount(ctx, a); err != nil {
		return Account{}, err
	}
	s.opts.Logger.InfoContext(ctx, "account added", "account", name, "role", role)
	a.PasswordHash = ""
	return a, nil
}

var roleRule = fault.Field{Field: "role", Message: "must be Viewer, Operator or Admin"}

// SetPassword changes a password and ends every session of the account. It returns [ErrInvalidAccount] or
// [ErrAccountNotFound].
func (s *Service) SetPassword(ctx context.Context, name, password string) error {
	return s.setPassword(ctx, ours, name, password, "")
}

// setPassword changes a password and ends every session of the account but one.
func (s *Service) setPassword(ctx context.Context, at place, name, password, keep string) error {
	account, err := s.store.Account(ctx, name)
	if err != nil {
		return err
	}
	if err := ValidatePassword(account.Name, password, account.Role); err != nil {
		return err
	}
	hash, err := s.hasher.hash(ctx, at, password)
	if err != nil {
		return err
	}
	err = s.store.UpdateAccount(ctx, name, func(a *Account) error {
		if a.Role != account.Role { // the rules may be stricter now
			if err := ValidatePassword(a.Name, password, a.Role); err != nil {
				return err
			}
		}
		a.PasswordHash, a.UpdatedAt = hash, s.later(a.UpdatedAt)
		return nil
	})
	if err != nil {
		return err
	}
	// The password is changed: the sessions end even if the caller gives up now.
	if err := s.EndSessions(context.WithoutCancel(ctx), name, keep); err != nil {
		return err
	}
	s.opts.Logger.InfoContext(ctx, "password changed", "account", account.Name)
	return nil
}

// SetRole changes what an account may do, including its open sessions. It returns
// [ErrInvalidAccount] or [ErrAccountNotFound].
func (s *Service) SetRole(ctx context.Context, name string, role Role) error {
	if !role.Valid() {
		return ErrInvalidAccount.Invalid(roleRule)
	}
	err := s.store.UpdateAccount(ctx, name, func(a *Account) error {
		a.Role, a.UpdatedAt = role, s.later(a.UpdatedAt)
		return nil
	})
	if err != nil {
		return err
	}
	s.live.dropAccount(name)
	s.opts.Logger.InfoContext(ctx, "role changed", "account", name, "role", role)
	return nil
}

// Remove removes an account and ends its sessions, or returns [ErrAccountNotFound].
func (s *Service) Remove(ctx context.Context, name string) error {
	if err := s.store.RemoveAccount(ctx, name); err != nil {
		return err
	}
	s.live.dropAccount(name)
	s.opts.Logger.InfoContext(ctx, "account removed", "account", name)
	return nil
}

// List returns all accounts by name, without their password hashes.
func (s *Service) List(ctx context.Context) ([]Account, error) {
	all, err := s.store.Accounts(ctx)
	for i := range all {
		all[i].PasswordHash = ""
	}
	return all, err
}

// EnsureAdmin adds the first account, an Admin, if there are no accounts. If password is empty, it sets a random password
// and returns it, for the command to print once; otherwise it returns "".
func (s *Service) EnsureAdmin(ctx context.Context, name, password string) (made string, err error) {
	all, err := s.store.Accounts(ctx)
	if err != nil || len(all) > 0 {
		return "", err
	}
	if password == "" {
		if made, err = s.randomPassword(); err != nil {
			return "", err
		}
		password = made
	}
	err = s.Add(ctx, name, password, Admin)
	if errors.Is(err, ErrAccountExists) {
		return "", nil // another process was first
	}
	if err != nil {
		return "", err
	}
	return made, nil
}

func (s *Service) randomPassword() (string, error) {
	var raw [15]byte // 120 bits, 24 letters
	if _, err := io.ReadFull(s.opts.Rand, raw[:]); err != nil {
		return "", fmt.Errorf("accounts: random source: %w", err)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(raw[:])), nil
}
