package accountstore

import (
	"context"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage"
)

const sessionColumns = "id, account, refresh_hash, address, created_us, refreshed_us, expires_us, ended_us"

func scanSession(row storage.Scanner, s *accounts.Session) error {
	return row.Scan(&s.ID, &s.Account, &s.RefreshHash, &s.Address, (*storage.Timestamp)(&s.CreatedAt), (*storage.Timestamp)(&s.RefreshedAt),
		(*storage.Timestamp)(&s.ExpiresAt), (*storage.Timestamp)(&s.EndedAt))
}

func readSession(ctx context.Context, tx *storage.Tx, id string) (accounts.Session, error) {
	var s accounts.Session
	found := false
	err := tx.Each(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE id = ?", []any{id}, func(row storage.Scanner) error {
		found = true
		return scanSession(row, &s)
	})
	if err == nil && !found {
		err = accounts.ErrSessionNotFound
	}
	return s, err
}

// orEmpty returns b, or empty bytes for a column that must not be null.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// AddSession implements [accounts.SessionStore]. It may use all of the reserve of a full disk.
func (s *Store) AddSession(ctx context.Context, v accounts.Session) error {
	return s.set.UpdateVital(ctx, "sessions.add", func(ctx context.Context, tx *storage.Tx) error {
		if _, err := readAccount(ctx, tx, v.Account); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE accounts SET last_sign_in_us = ? WHERE name_key = ?", storage.Timestamp(v.CreatedAt), nameKey(v.Account)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO sessions (account_key, "+sessionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			nameKey(v.Account), v.ID, v.Account, orEmpty(v.RefreshHash), storage.Text(v.Address), storage.Timestamp(v.CreatedAt),
			storage.Timestamp(v.RefreshedAt), storage.Timestamp(v.ExpiresAt), storage.Timestamp(v.EndedAt))
		return err
	})
}

// Session implements [accounts.SessionStore].
func (s *Store) Session(ctx context.Context, id string) (v accounts.Session, err error) {
	err = s.set.View(ctx, "sessions.get", func(ctx context.Context, tx *storage.Tx) error {
		v, err = readSession(ctx, tx, id)
		return err
	})
	return v, err
}

// UpdateSession implements [accounts.SessionStore]. It may use all of the reserve of a full disk.
func (s *Store) UpdateSession(ctx context.Context, id string, update func(*accounts.Session) error) error {
	return s.set.UpdateVital(ctx, "sessions.update", func(ctx context.Context, tx *storage.Tx) error {
		v, err := readSession(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := update(&v); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE sessions SET account_key = ?, account = ?, refresh_hash = ?, address = ?, created_us = ?, refreshed_us = ?,
			expires_us = ?, ended_us = ? WHERE id = ?`, nameKey(v.Account), v.Account, orEmpty(v.RefreshHash), storage.Text(v.Address),
			storage.Timestamp(v.CreatedAt), storage.Timestamp(v.RefreshedAt), storage.Timestamp(v.ExpiresAt), storage.Timestamp(v.EndedAt), id)
		return err
	})
}

// Sessions implements [accounts.SessionStore].
func (s *Store) Sessions(ctx context.Context, account string) (all []accounts.Session, err error) {
	query, args := "SELECT "+sessionColumns+" FROM sessions", []any(nil)
	if account != "" {
		query, args = query+" WHERE account_key = ?", []any{nameKey(account)}
	}
	err = s.set.View(ctx, "sessions.list", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		return tx.Each(ctx, query, args, func(row storage.Scanner) error {
			var one accounts.Session
			err := scanSession(row, &one)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// EndSessions implements [accounts.SessionStore]. It may use all of the reserve of a full disk.
func (s *Store) EndSessions(ctx context.Context, account, keep string, at time.Time) error {
	return s.set.UpdateVital(ctx, "sessions.end", func(ctx context.Context, tx *storage.Tx) error {
		return endSessions(ctx, tx, account, keep, at)
	})
}

func endSessions(ctx context.Context, tx *storage.Tx, account, keep string, at time.Time) error {
	_, err := tx.Exec(ctx, "UPDATE sessions SET ended_us = ? WHERE account_key = ? AND id <> ? AND ended_us IS NULL",
		storage.Timestamp(at), nameKey(account), keep)
	return err
}

// RemoveSessions implements [accounts.SessionStore]. It may use all of the reserve of a full disk.
func (s *Store) RemoveSessions(ctx context.Context, before time.Time) error {
	return s.set.UpdateVital(ctx, "sessions.trim", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sessions WHERE expires_us < ?", storage.Timestamp(before))
		return err
	})
}
