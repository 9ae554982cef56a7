package alertstore

import (
	"context"
	"time"

	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/storage"
)

// SentSince implements outbox.SentLister.
func (s *Store) SentSince(ctx context.Context, channel string, since time.Time, limit int) ([]outbox.SentTime, error) {
	var list []outbox.SentTime
	err := s.set.View(ctx, "outbox.sent", func(ctx context.Context, tx *storage.Tx) error {
		list = nil
		return tx.Each(ctx, `SELECT d.recipient, d.settled_us FROM alert_deliveries d
			WHERE d.settled_us > ? AND d.channel = ? AND d.state = 'sent' ORDER BY d.settled_us DESC LIMIT ?`,
			[]any{since.UnixMicro(), storage.Text(channel), max(limit, 0)}, func(row storage.Scanner) error {
				var one outbox.SentTime
				err := row.Scan(&one.Recipient, (*storage.Timestamp)(&one.At))
				list = append(list, one)
				return err
			})
	})
	return list, err
}
