package storage

import (
	"context"
	"math"
	"time"

	"github.com/otkit/otkit/alerting"
)

// silenceStore is alerting.SilenceStore.
type silenceStore struct{ db *DB }

func (s silenceStore) AddSilence(ctx context.Context, n alerting.Silence) error {
	return s.db.Update(ctx, "silences.add", func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO alert_silences (id, source_type, pattern, reason, created_by, created_us, starts_us, ends_us)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, n.ID, plain(n.SourceType), plain(n.Pattern), plain(n.Reason), plain(n.CreatedBy),
			Stamp(n.CreatedAt), Stamp(n.StartsAt), Stamp(n.EndsAt))
		return err
	})
}

func (s silenceStore) RemoveSilence(ctx context.Context, id string) error {
	return s.db.Update(ctx, "silences.remove", func(ctx context.Context, tx *Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM alert_silences WHERE id = ?", plain(id))
		if err == nil && n == 0 {
			err = alerting.ErrSilenceNotFound.On("silenceId", id)
		}
		return err
	})
}

func (s silenceStore) Silences(ctx context.Context, endsAfter time.Time) ([]alerting.Silence, error) {
	after := int64(math.MinInt64)
	if !endsAfter.IsZero() {
		after = endsAfter.UnixMicro()
	}
	var all []alerting.Silence
	err := s.db.View(ctx, "silences.list", func(ctx context.Context, tx *Tx) error {
		all = []alerting.Silence{}
		return tx.Each(ctx, `SELECT id, source_type, pattern, reason, created_by, created_us, starts_us, ends_us
			FROM alert_silences WHERE ends_us > ? ORDER BY created_us DESC, id DESC`, []any{after}, func(row Scanner) error {
			var n alerting.Silence
			err := row.Scan(&n.ID, &n.SourceType, &n.Pattern, &n.Reason, &n.CreatedBy,
				(*Stamp)(&n.CreatedAt), (*Stamp)(&n.StartsAt), (*Stamp)(&n.EndsAt))
			all = append(all, n)
			return err
		})
	})
	return all, err
}
