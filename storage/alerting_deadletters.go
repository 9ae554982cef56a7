package storage

import (
	"context"
	"time"

	"github.com/otkit/otkit/alerting"
)

// DeadLetters implements alerting.DeadLetters.
func (s *Outbox) DeadLetters(ctx context.Context, channel string, offset, limit int) ([]alerting.Delivery, int64, error) {
	var (
		page  []alerting.Delivery
		total int64
		where = "WHERE d.state = 'dead'"
		args  []any
	)
	if channel != "" {
		where += " AND d.channel = ?"
		args = append(args, plain(channel))
	}
	err := s.db.View(ctx, "outbox.dead", func(ctx context.Context, tx *Tx) error {
		page = nil
		if err := tx.Row(ctx, "SELECT COUNT(*) FROM alert_deliveries d "+where, args, &total); err != nil {
			return err
		}
		paged := append(args[:len(args):len(args)], max(limit, 0), max(offset, 0))
		return tx.Each(ctx, selectDelivery+where+" ORDER BY d.seq DESC, d.id DESC LIMIT ? OFFSET ?", paged, func(row Scanner) error {
			d, err := scanDelivery(row)
			page = append(page, d)
			return err
		})
	})
	return page, total, err
}

// revival makes deliveries pending as if they had never been tried.
const revival = `UPDATE alert_deliveries SET state = 'pending', attempts = 0, last_error = '', next_us = ?, expires_us = ?,
	settled_us = NULL WHERE `

// ReviveDeadLetters implements alerting.DeadLetters.
func (s *Outbox) ReviveDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error) {
	chosen := ""
	args := []any{now.UnixMicro(), Stamp(expires)}
	if id != "" {
		chosen += " AND f.id = ?"
		args = append(args, plain(id))
	}
	if channel != "" {
		chosen += " AND f.channel = ?"
		args = append(args, plain(channel))
	}
	var n int64
	err := s.update(ctx, "outbox.revive", func(ctx context.Context, tx *Tx) error {
		// The ends of the alarms come first, while their beginnings are dead.
		_, err := tx.Exec(ctx, revival+`state = 'dropped' AND resolved AND EXISTS (SELECT 1 FROM alert_deliveries f
			WHERE f.occurrence = alert_deliveries.occurrence AND f.channel = alert_deliveries.channel
			AND f.recipient = alert_deliveries.recipient AND NOT f.resolved AND f.state = 'dead'`+chosen+")", args...)
		if err != nil {
			return err
		}
		n, err = tx.Exec(ctx, revival+"id IN (SELECT f.id FROM alert_deliveries f WHERE f.state = 'dead'"+chosen+")", args...)
		return err
	})
	return int(n), err
}

// CountDeadLetters implements alerting.DeadLetters.
func (s *Outbox) CountDeadLetters(ctx context.Context) (map[string]int, error) {
	var counts map[string]int
	err := s.db.View(ctx, "outbox.count", func(ctx context.Context, tx *Tx) error {
		counts = make(map[string]int)
		return tx.Each(ctx, "SELECT channel, COUNT(*) FROM alert_deliveries WHERE state = 'dead' GROUP BY channel", nil, func(row Scanner) error {
			var (
				channel string
				n       int
			)
			err := row.Scan(&channel, &n)
			counts[channel] = n
			return err
		})
	})
	return counts, err
}
