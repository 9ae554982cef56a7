package accountstore

import (
	"context"
	"errors"
	"strings"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage"
)

const accountColumns = "name, password_hash, role, disabled, created_us, updated_us, last_sign_in_us"

// nameKey returns the form in which names are compared.
func nameKey(name string) string { return strings.ToLower(name) }

func scanAccount(row storage.Scanner, a *accounts.Account) error {
	var disabled int64
	err := row.Scan(&a.Name, &a.PasswordHash, &a.Role, &disabled, (*storage.Timestamp)(&a.CreatedAt), (*storage.Timestamp)(&a.UpdatedAt),
		(*storage.Timestamp)(&a.LastSignIn))
	a.Disabled = disabled != 0
	return err
}

// flag returns a truth as a column has it.
func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

func readAccount(ctx context.Context, tx *storage.Tx, name string) (accounts.Account, error) {
	var a accounts.Account
	found := false
	err := tx.Each(ctx, "SELECT "+accountColumns+" FROM accounts WHERE name_key = ?", []any{nameKey(name)}, func(row storage.Scanner) error {
		found = true
		return scanAccount(row, &a)
	})
	if err == nil && !found {
		err = accounts.ErrAccountNotFound.On("account", name)
	}
	return a, err
}

// Account implements [accounts.Store].
func (s *Store) Account(ctx context.Context, name string) (a accounts.Account, err error) {
	err = s.set.View(ctx, "accounts.get", func(ctx context.Context, tx *storage.Tx) error {
		a, err = readAccount(ctx, tx, name)
		return err
	})
	return a, err
}

// AddAccount implements [accounts.Store].
func (s *Store) AddAccount(ctx context.Context, a accounts.Account) error {
	err := s.set.Update(ctx, "accounts.add", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO accounts (name_key, "+accountColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			nameKey(a.Name), a.Name, a.PasswordHash, string(a.Role), flag(a.Disabled), storage.Timestamp(a.CreatedAt), storage.Timestamp(a.UpdatedAt),
			storage.Timestamp(a.LastSignIn))
		return err
	})
	if errors.Is(err, storage.ErrUnique) {
		return accounts.ErrAccountExists.On("account", a.Name)
	}
	return err
}

// UpdateAccount implements [accounts.Store].
func (s *Store) UpdateAccount(ctx context.Context, name string, update func(*accounts.Account) error) error {
	return s.set.Update(ctx, "accounts.update", func(ctx context.Context, tx *storage.Tx) error {
		a, err := readAccount(ctx, tx, name)
		if err != nil {
			return err
		}
		if err := update(&a); err != nil {
			return err
		}
		return writeAccount(ctx, tx, name, a)
	})
}

func writeAccount(ctx context.Context, tx *storage.Tx, name string, a accounts.Account) error {
	_, err := tx.Exec(ctx, `UPDATE accounts SET password_hash = ?, role = ?, disabled = ?, created_us = ?, updated_us = ?
		WHERE name_key = ?`, a.PasswordHash, string(a.Role), flag(a.Disabled), storage.Timestamp(a.CreatedAt), storage.Timestamp(a.UpdatedAt), nameKey(name))
	return err
}

// ChangeAccount implements [accounts.Store].
func (s *Store) ChangeAccount(ctx context.Context, name string, change func(*accounts.Account, int) (accounts.Effect, error)) error {
	return s.set.Update(ctx, "accounts.change", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "accounts"); err != nil { // two of the last admins may be changed simultaneously
			return err
		}
		a, err := readAccount(ctx, tx, name)
		if err != nil {
			return err
		}
		var others int
		err = tx.Row(ctx, "SELECT COUNT(*) FROM accounts WHERE role = ? AND disabled = 0 AND name_key <> ?", []any{string(accounts.Admin), nameKey(name)}, &others)
		if err != nil {
			return err
		}
		effect, err := change(&a, others)
		switch {
		case err != nil:
			return err
		case effect == accounts.Removes:
			return removeAccount(ctx, tx, name)
		}
		if err := writeAccount(ctx, tx, name, a); err != nil || effect != accounts.SignsOut {
			return err
		}
		return endSessions(ctx, tx, name, "", a.UpdatedAt)
	})
}

// RemoveAccount implements [accounts.Store]. It removes the account and its sessions in one transaction.
func (s *Store) RemoveAccount(ctx context.Context, name string) error {
	return s.set.Update(ctx, "accounts.remove", func(ctx context.Context, tx *storage.Tx) error {
		return removeAccount(ctx, tx, name)
	})
}

func removeAccount(ctx context.Context, tx *storage.Tx, name string) error {
	n, err := tx.Exec(ctx, "DELETE FROM accounts WHERE name_key = ?", nameKey(name))
	if err != nil {
		return err
	}
	if n == 0 {
		return accounts.ErrAccountNotFound.On("account", name)
	}
	_, err = tx.Exec(ctx, "DELETE FROM sessions WHERE account_key = ?", nameKey(name))
	return err
}

// Accounts implements [accounts.Store].
func (s *Store) Accounts(ctx context.Context) (all []accounts.Account, err error) {
	err = s.set.View(ctx, "accounts.list", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		return tx.Each(ctx, "SELECT "+accountColumns+" FROM accounts ORDER BY name_key", nil, func(row storage.Scanner) error {
			var a accounts.Account
			err := scanAccount(row, &a)
			all = append(all, a)
			return err
		})
	})
	return all, err
}
