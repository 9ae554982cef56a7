package alertstore

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/storage"
)

// DeadLetters implements outbox.DeadLetters.
func (s *Store) DeadLetters(ctx context.Context, channel string, offset, limit int) ([]outbox.Delivery, int64, error) {
	var (
		page  []outbox.Delivery
		total int64
		where = "WHERE d.state = 'dead'"
		args  []any
	)
	if channel != "" {
		where += " AND d.channel = ?"
		args = append(args, storage.Text(channel))
	}
	err := s.set.View(ctx, "outbox.dead", func(ctx context.Context, tx *storage.Tx) error {
		page = nil
		if err := tx.Row(ctx, "SELECT COUNT(*) FROM alert_deliveries d "+where, args, &total); err != nil {
			return err
		}
		paged := append(args[:len(args):len(args)], max(limit, 0), max(offset, 0))
		return tx.Each(ctx, selectDelivery+where+" ORDER BY d.seq DESC, d.id DESC LIMIT ? OFFSET ?", paged, func(row storage.Scanner) error {
			d, err := scanDelivery(row)
			page = append(page, d)
			return err
		})
	})
	return page, total, err
}

// DeadLetter implements outbox.DeadLetters.
func (s *Store) DeadLetter(ctx context.Context, id string) (d outbox.Delivery, err error) {
	err = s.set.View(ctx, "outbox.letter", func(ctx context.Context, tx *storage.Tx) error {
		found := false
		err := tx.Each(ctx, selectDelivery+"WHERE d.id = ? AND d.state = 'dead'", []any{storage.Text(id)}, func(row storage.Scanner) (err error) {
			d, err = scanDelivery(row)
			found = true
			return err
		})
		if err == nil && !found {
			err = outbox.ErrDeadLetterNotFound.On("id", id)
		}
		return err
	})
	return d, err
}

// revival makes deliveries pending as if they had never been tried.
const revival = `UPDATE alert_deliveries SET state = 'pending', attempts = 0, last_error = '', next_us = ?, expires_us = ?,
	settled_us = NULL WHERE `

// choose returns the dead letters f with an id, or of a channel, or all.
func choose(id, channel string) (where string, args []any) {
	where = "f.state = 'dead'"
	if id != "" {
		where += " AND f.id = ?"
		args = append(args, storage.Text(id))
	}
	if channel != "" {
		where += " AND f.channel = ?"
		args = append(args, storage.Text(channel))
	}
	return where, args
}

// RequeueDeadLetters implements outbox.DeadLetters.
func (s *Store) RequeueDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error) {
	dead, which := choose(id, channel)
	times := []any{now.UnixMicro(), storage.Timestamp(expires)}
	var n int64
	err := s.updateOutbox(ctx, "outbox.revive", func(ctx context.Context, tx *storage.Tx) error {
		// The ends of the alarms come first, while their beginnings, or the digests that have them, are dead.
		const ofAlarm = `JOIN alert_deliveries e ON e.occurrence = b.occurrence AND e.channel = b.channel AND e.recipient = b.recipient
			WHERE NOT b.resolved AND b.occurrence <> '' AND e.resolved AND e.state = 'dropped' AND `
		_, err := tx.Exec(ctx, revival+`id IN (SELECT e.id FROM (SELECT f.* FROM alert_deliveries f WHERE `+dead+`) b `+ofAlarm+`b.state = 'dead'
			UNION ALL SELECT e.id FROM alert_deliveries f JOIN alert_deliveries b ON b.digest_id = f.id `+ofAlarm+`b.state = 'folded'
				AND b.digest_id <> '' AND `+dead+")", slices.Concat(times, which, which)...)
		if err != nil {
			return err
		}
		n, err = tx.Exec(ctx, revival+"id IN (SELECT f.id FROM alert_deliveries f WHERE "+dead+")", append(times[:2:2], which...)...)
		return err
	})
	return int(n), err
}

// DiscardDeadLetters implements outbox.DeadLetters.
func (s *Store) DiscardDeadLetters(ctx context.Context, id, channel string, now time.Time) (int, error) {
	dead, which := choose(id, channel)
	var n int64
	err := s.updateOutbox(ctx, "outbox.drop", func(ctx context.Context, tx *storage.Tx) (err error) {
		n, err = tx.Exec(ctx, "UPDATE alert_deliveries SET state = 'dropped', settled_us = ? WHERE id IN (SELECT f.id FROM alert_deliveries f WHERE "+
			dead+")", append([]any{storage.Timestamp(now)}, which...)...)
		return err
	})
	return int(n), err
}

// CountDeadLetters implements outbox.DeadLetters.
func (s *Store) CountDeadLetters(ctx context.Context) (map[string]outbox.DeadLetterCount, error) {
	var counts map[string]outbox.DeadLetterCount
	err := s.set.View(ctx, "outbox.count", func(ctx context.Context, tx *storage.Tx) error {
		counts = make(map[string]outbox.DeadLetterCount)
		return tx.Each(ctx, "SELECT channel, COUNT(*), MAX(settled_us) FROM alert_deliveries WHERE state = 'dead' GROUP BY channel", nil, func(row storage.Scanner) error {
			var (
				channel string
				c       outbox.DeadLetterCount
			)
			err := row.Scan(&channel, &c.Count, (*storage.Timestamp)(&c.Newest))
			counts[channel] = c
			return err
		})
	})
	return counts, err
}
