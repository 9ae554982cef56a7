package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/otkit/otkit/accounts"
)

// sessionStore is accounts.SessionStore.
type sessionStore struct{ db *DB }

func readSession(ctx context.Context, tx *Tx, id string) (accounts.Session, error) {
	var s accounts.Session
	err := tx.Row(ctx, "SELECT id, account, refresh_hash, expires_us, ended_us FROM sessions WHERE id = ?", []any{id},
		&s.ID, &s.Account, &s.RefreshHash, (*Stamp)(&s.ExpiresAt), (*Stamp)(&s.EndedAt))
	if errors.Is(err, sql.ErrNoRows) {
		err = accounts.ErrSessionNotFound
	}
	return s, err
}

// orEmpty gives a column that must not be null something to hold.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (s sessionStore) AddSession(ctx context.Context, v accounts.Session) error {
	return s.db.Update(ctx, "sessions.add", func(ctx context.Context, tx *Tx) error {
		if _, err := readAccount(ctx, tx, v.Account); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO sessions (id, account_key, account, refresh_hash, expires_us, ended_us)
			VALUES (?, ?, ?, ?, ?, ?)`,
			v.ID, nameKey(v.Account), v.Account, orEmpty(v.RefreshHash), Stamp(v.ExpiresAt), Stamp(v.EndedAt))
		return err
	})
}

func (s sessionStore) Session(ctx context.Context, id string) (v accounts.Session, err error) {
	err = s.db.View(ctx, "sessions.get", func(ctx context.Context, tx *Tx) error {
		v, err = readSession(ctx, tx, id)
		return err
	})
	return v, err
}

func (s sessionStore) UpdateSession(ctx context.Context, id string, update func(*accounts.Session) error) error {
	return s.db.Update(ctx, "sessions.update", func(ctx context.Context, tx *Tx) error {
		v, err := readSession(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := update(&v); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE sessions SET account_key = ?, account = ?, refresh_hash = ?, expires_us = ?, ended_us = ?
			WHERE id = ?`, nameKey(v.Account), v.Account, orEmpty(v.RefreshHash), Stamp(v.ExpiresAt), Stamp(v.EndedAt), id)
		return err
	})
}

func (s sessionStore) EndSessions(ctx context.Context, account string, at time.Time) error {
	return s.db.Update(ctx, "sessions.end", func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "UPDATE sessions SET ended_us = ? WHERE account_key = ? AND ended_us IS NULL",
			Stamp(at), nameKey(account))
		return err
	})
}

func (s sessionStore) RemoveSessions(ctx context.Context, before time.Time) error {
	return s.db.Update(ctx, "sessions.trim", func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sessions WHERE expires_us < ?", Stamp(before))
		return err
	})
}
