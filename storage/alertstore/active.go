package alertstore

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/storage"
)

// SilencedDeliveries implements outbox.Store.
func (s *Store) SilencedDeliveries(ctx context.Context, after outbox.Delivery, limit int) ([]outbox.Delivery, error) {
	var found []outbox.Delivery
	err := s.set.View(ctx, "outbox.silenced", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		return tx.Each(ctx, `SELECT d.id, d.seq, d.occurrence, d.channel, d.recipient, d.state, d.source, d.source_type,
			CASE WHEN d.source_type = '' THEN d.notification ELSE '' END FROM alert_deliveries d
			WHERE d.state = 'silenced' AND (d.occurrence, d.id) > (?, ?) ORDER BY d.occurrence, d.id LIMIT ?`,
			[]any{after.Occurrence, after.ID, max(limit, 0)}, func(row storage.Scanner) error {
				var (
					d    outbox.Delivery
					text []byte
				)
				n := &d.Notification
				if err := row.Scan(&d.ID, &d.Seq, &d.Occurrence, &d.Channel, &d.Recipient, &d.State, &n.Source, &n.SourceType, &text); err != nil {
					return err
				}
				readNotification(&d, text)
				found = append(found, d)
				return nil
			})
	})
	return found, err
}

// ReleaseSilenced implements outbox.Store.
func (s *Store) ReleaseSilenced(ctx context.Context, ids []string, to outbox.DeliveryState, now, expires time.Time) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	keys := make([]any, 0, len(ids))
	for _, id := range storage.Distinct(ids, func(id string) string { return id }) {
		keys = append(keys, storage.Text(id))
	}
	set, values := "settled_us = ?", []any{string(to), storage.Timestamp(now)}
	if to == outbox.Pending {
		set, values = "next_us = ?, expires_us = ?", []any{string(to), now.UnixMicro(), storage.Timestamp(expires)}
	}
	var n int64
	err := s.updateOutbox(ctx, "outbox.unsilence", func(ctx context.Context, tx *storage.Tx) error {
		n = 0
		for marks, part := range storage.InLists(keys) {
			changed, err := tx.Exec(ctx, "UPDATE alert_deliveries SET state = ?, "+set+" WHERE state = 'silenced' AND id IN "+marks,
				append(values[:len(values):len(values)], part...)...)
			if err != nil {
				return err
			}
			n += changed
		}
		return nil
	})
	return int(n), err
}

// finished are deliveries d in a final state that were settled before a time.
const finished = `d.settled_us IS NOT NULL AND d.settled_us < ? AND d.state IN ('sent', 'folded', 'dropped', 'dead')`

// trims choose what TrimDeliveries removes, in this order: the end of an alarm stays as long as its
// beginning, which would pass for that of one that stands.
var trims = [...]struct {
	where string
	times int // that it is given
}{
	{finished, 1},
	{finished + ` AND NOT d.resolved AND (d.occurrence = '' OR (d.state = 'dropped' OR d.own
			OR EXISTS (SELECT 1 FROM alert_deliveries e WHERE e.occurrence = d.occurrence AND e.resolved))
		AND NOT EXISTS (SELECT 1 FROM alert_deliveries e WHERE e.occurrence = d.occurrence AND e.resolved
			AND (e.settled_us IS NULL OR e.settled_us >= ?)))`, 2},
	{finished + ` AND d.resolved
		AND NOT EXISTS (SELECT 1 FROM alert_deliveries e WHERE e.occurrence = d.occurrence AND NOT e.resolved)`, 1},
}

// TrimDeliveries implements outbox.Store.
func (s *Store) TrimDeliveries(ctx context.Context, before, standing time.Time) error {
	for i, which := range trims {
		limit := before
		if i == 0 {
			limit = standing
		}
		args := slices.Repeat([]any{storage.Timestamp(limit)}, which.times)
		err := s.set.Delete(ctx, "outbox.trim", func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
			if err := tx.Lock(ctx, "alert_cursor"); err != nil {
				return 0, err
			}
			return tx.Exec(ctx, "DELETE FROM alert_deliveries WHERE id IN (SELECT d.id FROM alert_deliveries d WHERE "+which.where+" LIMIT ?)",
				append(slices.Clip(args), limit)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
