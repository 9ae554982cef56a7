package alertstore

import (
	"context"
	"math"
	"time"

	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/storage"
)

// AddSilence implements [silences.Store].
func (s *Store) AddSilence(ctx context.Context, n silences.Silence, room silences.Room) error {
	return s.set.Update(ctx, "silences.add", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alert_silences"); err != nil {
			return err
		}
		if n.Anonymous {
			if err := makeRoom(ctx, tx, n, room.Anonymous, "anonymous"); err != nil {
				return err
			}
		}
		if err := makeRoom(ctx, tx, n, room.Total, "TRUE"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO alert_silences (id, source_type, pattern, reason, created_by, recorded_by, created_us, starts_us, ends_us, anonymous)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, n.ID, storage.Text(n.SourceType), storage.Text(n.Pattern), storage.Text(n.Reason), storage.Text(n.CreatedBy),
			storage.Text(n.RecordedBy), storage.Timestamp(n.CreatedAt), storage.Timestamp(n.StartsAt), storage.Timestamp(n.EndsAt), n.Anonymous)
		return err
	})
}

// makeRoom removes silences that ended, of those that a condition names, until there is room for one more.
func makeRoom(ctx context.Context, tx *storage.Tx, n silences.Silence, room int, of string) error {
	if room <= 0 {
		return nil
	}
	var all, ended int
	err := tx.Row(ctx, "SELECT COUNT(*), COALESCE(SUM(CASE WHEN ends_us <= ? THEN 1 ELSE 0 END), 0) FROM alert_silences WHERE "+of,
		[]any{storage.Timestamp(n.CreatedAt)}, &all, &ended)
	switch {
	case err != nil:
		return err
	case all-ended >= room:
		return silences.ErrTooMany
	case all < room:
		return nil
	}
	_, err = tx.Exec(ctx, "DELETE FROM alert_silences WHERE id IN (SELECT id FROM alert_silences WHERE ends_us <= ? AND "+of+
		" ORDER BY ends_us, id LIMIT ?)", storage.Timestamp(n.CreatedAt), all-room+1)
	return err
}

// ChangeSilence implements [silences.Store].
func (s *Store) ChangeSilence(ctx context.Context, id string, change func(*silences.Silence) error) error {
	return s.set.Update(ctx, "silences.change", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alert_silences"); err != nil {
			return err
		}
		var list []silences.Silence
		err := tx.Each(ctx, selectSilence+"WHERE id = ?", []any{storage.Text(id)}, func(row storage.Scanner) error {
			n, err := scanSilence(row)
			list = append(list, n)
			return err
		})
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return silences.ErrNotFound.On("silenceId", id)
		}
		n := list[0]
		if err := change(&n); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE alert_silences SET source_type = ?, pattern = ?, reason = ?, ends_us = ? WHERE id = ?",
			storage.Text(n.SourceType), storage.Text(n.Pattern), storage.Text(n.Reason), storage.Timestamp(n.EndsAt), storage.Text(id))
		return err
	})
}

const selectSilence = `SELECT id, source_type, pattern, reason, created_by, recorded_by, created_us, starts_us, ends_us, anonymous
	FROM alert_silences `

func scanSilence(row storage.Scanner) (n silences.Silence, err error) {
	err = row.Scan(&n.ID, &n.SourceType, &n.Pattern, &n.Reason, &n.CreatedBy, &n.RecordedBy,
		(*storage.Timestamp)(&n.CreatedAt), (*storage.Timestamp)(&n.StartsAt), (*storage.Timestamp)(&n.EndsAt), &n.Anonymous)
	return n, err
}

// RemoveSilence implements [silences.Store].
func (s *Store) RemoveSilence(ctx context.Context, id string) error {
	return s.set.Update(ctx, "silences.remove", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM alert_silences WHERE id = ?", storage.Text(id))
		if err == nil && n == 0 {
			err = silences.ErrNotFound.On("silenceId", id)
		}
		return err
	})
}

// Silences implements [silences.Store].
func (s *Store) Silences(ctx context.Context, endsAfter time.Time) ([]silences.Silence, error) {
	after := int64(math.MinInt64)
	if !endsAfter.IsZero() {
		after = endsAfter.UnixMicro()
	}
	var all []silences.Silence
	err := s.set.View(ctx, "silences.list", func(ctx context.Context, tx *storage.Tx) error {
		all = []silences.Silence{}
		return tx.Each(ctx, selectSilence+"WHERE ends_us > ? ORDER BY created_us DESC, id DESC", []any{after}, func(row storage.Scanner) error {
			n, err := scanSilence(row)
			all = append(all, n)
			return err
		})
	})
	return all, err
}
