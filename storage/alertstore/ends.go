package alertstore

import (
	"context"
	"strings"
	"time"

	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/storage"
)

// keepEnds stores the last ends of alarms and their senders.
func keepEnds(ctx context.Context, tx *storage.Tx, ends []history.End) error {
	ends = storage.Distinct(ends, func(e history.End) string { return storage.Text(e.Alarm) })
	rows := make([][]any, len(ends))
	for i, e := range ends {
		rows[i] = []any{storage.Text(e.Alarm), e.At.UnixMicro(), e.ToldAt.UnixMicro(), storage.Text(strings.Join(e.By, " "))}
	}
	return tx.Insert(ctx, "INSERT INTO alert_ends (alarm, at_us, told_us, told_by) VALUES", rows,
		"ON CONFLICT (alarm) DO UPDATE SET at_us = excluded.at_us, told_us = excluded.told_us, told_by = excluded.told_by")
}

// readEnds reads the last ends of alarms.
func readEnds(ctx context.Context, tx *storage.Tx, names []any, ends *[]history.End) error {
	return tx.EachIn(ctx, "SELECT alarm, at_us, told_us, told_by FROM alert_ends WHERE alarm IN ", names, "", func(row storage.Scanner) error {
		var (
			e        history.End
			at, told int64
			by       string
		)
		if err := row.Scan(&e.Alarm, &at, &told, &by); err != nil {
			return err
		}
		e.At, e.ToldAt, e.By = time.UnixMicro(at).UTC(), time.UnixMicro(told).UTC(), strings.Fields(by)
		*ends = append(*ends, e)
		return nil
	})
}
