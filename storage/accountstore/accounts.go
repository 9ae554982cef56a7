package accountstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage"
)

const accountColumns = "name, password_hash, role, created_us, updated_us"

// nameKey returns the form in which names are compared.
func nameKey(name string) string { return strings.ToLower(name) }

func scanAccount(row storage.Scanner, a *accounts.Account) error {
	return row.Scan(&a.Name, &a.PasswordHash, &a.Role, (*storage.Timestamp)(&a.CreatedAt), (*storage.Timestamp)(&a.UpdatedAt))
}

func readAccount(ctx context.Context, tx *storage.Tx, name string) (accounts.Account, error) {
	var a accounts.Account
	err := tx.Row(ctx, "SELECT "+accountColumns+" FROM accounts WHERE name_key = ?", []any{nameKey(name)},
		&a.Name, &a.PasswordHash, &a.Role, (*storage.Timestamp)(&a.CreatedAt), (*storage.Timestamp)(&a.UpdatedAt))
	if errors.Is(err, sql.ErrNoRows) {
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
		_, err := tx.Exec(ctx, "INSERT INTO accounts (name_key, "+accountColumns+") VALUES (?, ?, ?, ?, ?, ?)",
			nameKey(a.Name), a.Name, a.PasswordHash, string(a.Role), storage.Timestamp(a.CreatedAt), storage.Timestamp(a.UpdatedAt))
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
		_, err = tx.Exec(ctx, `UPDATE accounts SET password_hash = ?, role = ?, created_us = ?, updated_us = ?
			WHERE name_key = ?`, a.PasswordHash, string(a.Role), storage.Timestamp(a.CreatedAt), storage.Timestamp(a.UpdatedAt), nameKey(name))
		return err
	})
}

// RemoveAccount implements [accounts.Store]. It removes the account and its sessions in one transaction.
func (s *Store) RemoveAccount(ctx context.Context, name string) error {
	return s.set.Update(ctx, "accounts.remove", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM accounts WHERE name_key = ?", nameKey(name))
		if err != nil {
			return err
		}
		if n == 0 {
			return accounts.ErrAccountNotFound.On("account", name)
		}
		_, err = tx.Exec(ctx, "DELETE FROM sessions WHERE account_key = ?", nameKey(name))
		return err
	})
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
