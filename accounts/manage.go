package accounts

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
)

// ErrLastAdmin is returned for a change that would leave no account that is Admin and may log in.
var ErrLastAdmin = fault.New(fault.Conflict, "LAST_ADMIN", "the last enabled Admin must remain")

// Change is what to change of an account.
type Change struct {
	Role     Role   // empty keeps it
	Disabled *bool  // nil keeps it
	Password string // empty keeps it
	// If refuses the change of an account that is not as the caller knows it, by an error, which is returned. It may be nil.
	If func(a Account) error
}

// Account returns an account without its password hash, or [ErrAccountNotFound].
func (s *Service) Account(ctx context.Context, name string) (Account, error) {
	a, err := s.store.Account(ctx, name)
	a.PasswordHash = ""
	return a, err
}

// Change changes an account. If its role or its password changes, or it is disabled, its sessions end in the same step. It
// returns the account without its password hash, or [ErrInvalidAccount], [ErrAccountNotFound] or [ErrLastAdmin].
func (s *Service) Change(ctx context.Context, name string, c Change) (Account, error) {
	if c.Role != "" && !c.Role.Valid() {
		return Account{}, ErrInvalidAccount.Invalid(roleRule)
	}
	var hash string
	if c.Password != "" {
		a, err := s.store.Account(ctx, name)
		if err != nil {
			return Account{}, err
		}
		if err := ValidatePassword(a.Name, c.Password, cmp.Or(c.Role, a.Role)); err != nil {
			return Account{}, err
		}
		if hash, err = s.hasher.hash(ctx, ours, c.Password); err != nil {
			return Account{}, err
		}
	}
	var changed Account
	err := s.store.ChangeAccount(ctx, name, func(a *Account, otherAdmins int) (Effect, error) {
		before := *a
		a.Role = cmp.Or(c.Role, a.Role)
		if c.Disabled != nil {
			a.Disabled = *c.Disabled
		}
		if err := mayChange(before, c.If, otherAdmins, a.Role == Admin && !a.Disabled); err != nil {
			return Keep, err
		}
		effect := Keep
		if hash != "" {
			if err := ValidatePassword(a.Name, c.Password, a.Role); err != nil { // the rules may be stricter now
				return Keep, err
			}
			a.PasswordHash = hash
		}
		if a.Role != before.Role || a.Disabled || hash != "" {
			effect = SignsOut
		}
		a.UpdatedAt = s.later(a.UpdatedAt)
		changed = *a
		return effect, nil
	})
	if err != nil {
		return Account{}, err
	}
	s.live.dropAccount(name)
	s.opts.Logger.InfoContext(ctx, "account changed", "account", changed.Name, "role", changed.Role, "disabled", changed.Disabled, "password", hash != "")
	changed.PasswordHash = ""
	return changed, nil
}

// Delete removes an account and ends its sessions like Remove, but not the last Admin that may log in: it returns
// [ErrAccountNotFound] or [ErrLastAdmin]. unless refuses to remove an account by an error, which is returned; it may be nil.
func (s *Service) Delete(ctx context.Context, name string, unless func(a Account) error) error {
	err := s.store.ChangeAccount(ctx, name, func(a *Account, otherAdmins int) (Effect, error) {
		return Removes, mayChange(*a, unless, otherAdmins, false)
	})
	if err != nil {
		return err
	}
	s.live.dropAccount(name)
	s.opts.Logger.InfoContext(ctx, "account removed", "account", name)
	return nil
}

// mayChange returns why an account must not be changed. admin is whether it is an Admin that may log in afterwards.
func mayChange(a Account, unless func(Account) error, otherAdmins int, admin bool) error {
	if unless != nil {
		if err := unless(a); err != nil {
			return err
		}
	}
	if a.Role == Admin && !a.Disabled && !admin && otherAdmins == 0 {
		return ErrLastAdmin
	}
	return nil
}

// later returns the time, or one after last when the clock is set back: each change has a time of its own.
func (s *Service) later(last time.Time) time.Time {
	return slices.MaxFunc([]time.Time{s.opts.Now().UTC().Truncate(time.Microsecond), last.Add(time.Microsecond)}, time.Time.Compare)
}
