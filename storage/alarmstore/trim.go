package alarmstore

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/positions"
)

// Trim implements [alarms.Trimmer].
func (s *Store) Trim(ctx context.Context, before time.Time) error {
	if err := alarmPositions.Repair(ctx, s.set, "alarm_counter"); err != nil {
		return err
	}
	at := storage.Timestamp(before)
	for _, part := range []func(ctx context.Context, tx *storage.Tx, limit int) (int64, error){
		// An occurrence was raised before it was cleared, so that the index by that time leads to it.
		func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
			return trimOccurrences(ctx, tx, `DELETE FROM alarm_occurrences WHERE seq IN (SELECT o.seq FROM alarm_occurrences o
				WHERE o.raised_us < ? AND o.cleared_us < ? AND NOT o.active
				AND NOT EXISTS (SELECT 1 FROM alarm_conditions c WHERE c.code = o.code AND c.last_seq = o.seq) LIMIT ?)`,
				at, at, limit)
		},
		func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
			return trimConditions(ctx, tx, at, limit)
		},
		func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
			return tx.Exec(ctx, `DELETE FROM alarm_events WHERE seq IN (SELECT seq FROM alarm_events WHERE at_us < ? AND id < ? LIMIT ?)`,
				at, firstID(before), limit)
		},
	} {
		err := s.set.Delete(ctx, "alarms.trim", func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
			if err := tx.Lock(ctx, "alarm_counter"); err != nil {
				return 0, err
			}
			return part(ctx, tx, limit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// trimOccurrences removes occurrences and takes them from the counts.
func trimOccurrences(ctx context.Context, tx *storage.Tx, query string, args ...any) (int64, error) {
	var gone []positions.Change[int64]
	err := tx.Each(ctx, query+" RETURNING "+classColumns, args, func(row storage.Scanner) error {
		at, class, err := scanClass(row)
		gone = append(gone, positions.Deleted(at, class))
		return err
	})
	if err != nil {
		return 0, err
	}
	return int64(len(gone)), alarmPositions.Apply(ctx, tx, gone)
}

// firstID returns an id that is not above any UUIDv7 of a time or later.
func firstID(at time.Time) string {
	ms := max(at.UnixMilli(), 0)
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

// trimConditions removes conditions that nothing needs, each with its newest occurrence. The others
// have been removed before.
func trimConditions(ctx context.Context, tx *storage.Tx, at storage.Timestamp, limit int) (int64, error) {
	n, err := tx.Exec(ctx, `DELETE FROM alarm_conditions WHERE code IN (SELECT c.code FROM alarm_occurrences o
		JOIN alarm_conditions c ON c.code = o.code AND c.last_seq = o.seq
		WHERE o.raised_us < ? AND o.cleared_us < ? AND NOT o.active AND c.withheld = 0
		AND NOT EXISTS (SELECT 1 FROM alarm_occurrences x WHERE x.code = c.code AND x.seq <> o.seq)
		AND NOT EXISTS (SELECT 1 FROM alarm_resolutions r WHERE r.code = c.code)
		AND NOT EXISTS (SELECT 1 FROM alarm_rules r WHERE c.alarm_key LIKE 'rule:%' AND r.id = substr(c.alarm_key, 6)) LIMIT ?)`,
		at, at, limit)
	if err != nil || n == 0 {
		return n, err
	}
	_, err = trimOccurrences(ctx, tx, `DELETE FROM alarm_occurrences WHERE raised_us < ?
		AND NOT EXISTS (SELECT 1 FROM alarm_conditions c WHERE c.code = alarm_occurrences.code)`, at)
	return n, err
}
