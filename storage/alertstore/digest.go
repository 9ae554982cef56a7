package alertstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/storage"
)

// DigestDeliveries implements outbox.Store.
func (s *Store) DigestDeliveries(ctx context.Context, digest string) ([]outbox.Delivery, error) {
	var found []outbox.Delivery
	err := s.set.View(ctx, "outbox.folded", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		return tx.Each(ctx, `SELECT d.id, d.resolved, d.source, d.source_type, CASE WHEN d.source_type = '' THEN d.notification ELSE '' END
			FROM alert_deliveries d WHERE d.digest_id = ? AND d.digest_id <> '' AND d.state = 'folded'`, []any{storage.Text(digest)}, func(row storage.Scanner) error {
			var (
				d    outbox.Delivery
				text []byte
			)
			if err := row.Scan(&d.ID, &d.Resolved, &d.Notification.Source, &d.Notification.SourceType, &text); err != nil {
				return err
			}
			readNotification(&d, text)
			found = append(found, d)
			return nil
		})
	})
	return found, err
}

// DigestMessages implements outbox.DigestReader.
func (s *Store) DigestMessages(ctx context.Context, digest string, offset, limit int) ([]outbox.Delivery, int64, error) {
	var (
		page  []outbox.Delivery
		total int64
	)
	const where = "WHERE d.digest_id = ? AND d.digest_id <> '' AND d.state = 'folded'"
	err := s.set.View(ctx, "outbox.digest", func(ctx context.Context, tx *storage.Tx) error {
		page = nil
		if err := tx.Row(ctx, "SELECT COUNT(*) FROM alert_deliveries d "+where, []any{storage.Text(digest)}, &total); err != nil {
			return err
		}
		args := []any{storage.Text(digest), max(limit, 0), max(offset, 0)}
		return tx.Each(ctx, selectDelivery+where+" ORDER BY d.seq, d.id LIMIT ? OFFSET ?", args, func(row storage.Scanner) error {
			d, err := scanDelivery(row)
			page = append(page, d)
			return err
		})
	})
	return page, total, err
}

// readNotification reads the stored message where it was needed.
func readNotification(d *outbox.Delivery, text []byte) {
	if len(text) > 0 && json.Unmarshal(text, &d.Notification) != nil {
		d.Notification, d.Unreadable = alerting.Notification{}, true
	}
}

// SplitDigest implements outbox.Store.
func (s *Store) SplitDigest(ctx context.Context, owner, digest string, silenced []string, now time.Time) error {
	keys := make([]any, 0, len(silenced))
	for _, id := range storage.Distinct(silenced, func(id string) string { return id }) {
		keys = append(keys, storage.Text(id))
	}
	owner, digest = storage.Text(owner), storage.Text(digest)
	return s.updateOutbox(ctx, "outbox.unfold", func(ctx context.Context, tx *storage.Tx) error {
		var (
			uncertain bool
			expires   storage.Timestamp
		)
		err := tx.Row(ctx, "SELECT uncertain, expires_us FROM alert_deliveries WHERE id = ? AND state = 'sending' AND owner = ?",
			[]any{digest, owner}, &uncertain, &expires)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE alert_deliveries SET state = 'dropped', settled_us = ?, owner = '', lease_us = NULL WHERE id = ?",
			storage.Timestamp(now), digest); err != nil {
			return err
		}
		args := []any{now.UnixMicro(), expires, uncertain, digest}
		const unfold = `digest_id = '', settled_us = NULL, next_us = ?, expires_us = ?, uncertain = (uncertain OR ?)
			WHERE digest_id = ? AND digest_id <> '' AND state = 'folded'`
		for marks, part := range storage.InLists(keys) {
			if _, err := tx.Exec(ctx, "UPDATE alert_deliveries SET state = 'silenced', "+unfold+" AND id IN "+marks, append(args[:4:4], part...)...); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "UPDATE alert_deliveries SET state = 'pending', "+unfold, args...)
		return err
	})
}

// ExpireOrphaned implements outbox.Store.
func (s *Store) ExpireOrphaned(ctx context.Context, channels []string, now, expired time.Time, why string) (map[string]int, error) {
	// The list of states is that of an index.
	where := ` WHERE state IN ('pending', 'sending') AND (state = 'pending' OR lease_us <= ?) AND expires_us <= ?`
	args := []any{storage.Timestamp(now), storage.Timestamp(expired)}
	if len(channels) > 0 {
		where += " AND channel NOT IN (?" + strings.Repeat(", ?", len(channels)-1) + ")"
		for _, c := range channels {
			args = append(args, storage.Text(c))
		}
	}
	var counts map[string]int
	count := func(ctx context.Context, tx *storage.Tx) error {
		counts = make(map[string]int)
		return tx.Each(ctx, "SELECT channel, COUNT(*) FROM alert_deliveries"+where+" GROUP BY channel", args, func(row storage.Scanner) error {
			var (
				channel string
				n       int
			)
			err := row.Scan(&channel, &n)
			counts[channel] = n
			return err
		})
	}
	if err := s.set.View(ctx, "outbox.expired", count); err != nil || len(counts) == 0 {
		return nil, err
	}
	err := s.updateOutbox(ctx, "outbox.expire", func(ctx context.Context, tx *storage.Tx) error {
		if err := count(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE alert_deliveries SET state = CASE WHEN own THEN 'dropped' ELSE 'dead' END, settled_us = ?, last_error = CASE last_error WHEN '' THEN ? ELSE last_error END,
			owner = '', lease_us = NULL`+where, append([]any{storage.Timestamp(now), storage.Text(why)}, args...)...)
		return err
	})
	return counts, err
}
