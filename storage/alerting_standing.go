package storage

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting"
)

// SilencedDeliveries implements alerting.Outbox.
func (s *Outbox) SilencedDeliveries(ctx context.Context, after alerting.Delivery, limit int) ([]alerting.Delivery, error) {
	var found []alerting.Delivery
	err := s.db.View(ctx, "outbox.silenced", func(ctx context.Context, tx *Tx) error {
		found = nil
		return tx.Each(ctx, `SELECT d.id, d.seq, d.occurrence, d.channel, d.recipient, d.state, d.source, d.source_type,
			CASE WHEN d.source_type = '' THEN d.notification ELSE '' END FROM alert_deliveries d
			WHERE d.state = 'silenced' AND (d.occurrence, d.id) > (?, ?) ORDER BY d.occurrence, d.id LIMIT ?`,
			[]any{after.Occurrence, after.ID, max(limit, 0)}, func(row Scanner) error {
				var (
					d    alerting.Delivery
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

// Unsilence implements alerting.Outbox.
func (s *Outbox) Unsilence(ctx context.Context, ids []string, to alerting.DeliveryState, now, expires time.Time) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	keys := make([]any, 0, len(ids))
	for _, id := range once(ids, func(id string) string { return id }) {
		keys = append(keys, plain(id))
	}
	set, values := "settled_us = ?", []any{string(to), Stamp(now)}
	if to == alerting.Pending {
		set, values = "next_us = ?, expires_us = ?", []any{string(to), now.UnixMicro(), Stamp(expires)}
	}
	var n int64
	err := s.update(ctx, "outbox.unsilence", func(ctx context.Context, tx *Tx) error {
		n = 0
		for marks, part := range lists(keys) {
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

// TrimDeliveries implements alerting.Outbox.
func (s *Outbox) TrimDeliveries(ctx context.Context, before, standing time.Time) error {
	for i, which := range trims {
		limit := before
		if i == 0 {
			limit = standing
		}
		args := append(slices.Repeat([]any{Stamp(limit)}, which.times), trimSlice)
		for n := int64(trimSlice); n == trimSlice; {
			err := s.update(ctx, "outbox.trim", func(ctx context.Context, tx *Tx) (err error) {
				n, err = tx.Exec(ctx, "DELETE FROM alert_deliveries WHERE id IN (SELECT d.id FROM alert_deliveries d WHERE "+which.where+" LIMIT ?)",
					args...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
