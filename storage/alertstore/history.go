package alertstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/positions"
	"github.com/otkit/otkit/storage/internal/search"
)

// recordKey is a key as one text. The time comes last and has digits only, so that no two keys meet.
func recordKey(k alerting.RecordKey) string {
	return storage.Text(k.Alarm) + "@" + microText(k.At)
}

// ApplyRecords implements [history.Writer].
func (s *Store) ApplyRecords(ctx context.Context, changes history.Changes) error {
	if len(changes.Add)+len(changes.Update)+len(changes.Complete)+len(changes.Ends) == 0 {
		return nil
	}
	add := storage.Distinct(changes.Add, func(r alerting.Record) string { return recordKey(r.Key) })
	complete := storage.Distinct(changes.Complete, func(c history.Completion) string { return recordKey(c.Key) })
	return s.set.Update(ctx, "alerts.apply", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alert_sources"); err != nil {
			return err
		}
		moved, err := addRecords(ctx, tx, add)
		if err != nil {
			return err
		}
		if err := updateRecords(ctx, tx, changes.Update); err != nil {
			return err
		}
		rows, keys := make([][]any, len(complete)), make([]any, len(complete))
		for i, c := range complete {
			rows[i] = []any{recordKey(c.Key), microText(c.At)}
			keys[i] = rows[i][0]
		}
		err = tx.EachIn(ctx, "SELECT "+recordClassColumns+" FROM alert_records WHERE completed_us IS NULL AND record_key IN ", keys, "", func(row storage.Scanner) error {
			at, class, err := scanRecordClass(row)
			moved = append(moved, positions.Deleted(at, class), positions.Inserted(at, class&^classFiring))
			return err
		})
		if err != nil {
			return err
		}
		err = tx.UpdateRows(ctx, "UPDATE alert_records SET completed_us = CAST(v.column2 AS BIGINT)", rows,
			"WHERE record_key = v.column1 AND completed_us IS NULL")
		if err != nil {
			return err
		}
		if err := alertPositions.Apply(ctx, tx, moved); err != nil {
			return err
		}
		return keepEnds(ctx, tx, changes.Ends)
	})
}

// updateRecords replaces what a sender may change while an alert is active.
func updateRecords(ctx context.Context, tx *storage.Tx, list []alerting.Record) error {
	latest := slices.Clone(list)
	slices.Reverse(latest) // of several updates of a record the last one counts
	latest = storage.Distinct(latest, func(r alerting.Record) string { return recordKey(r.Key) })
	rows := make([][]any, len(latest))
	for i, r := range latest {
		annotations, err := search.WriteLabels(r.Annotations)
		if err != nil {
			return err
		}
		rows[i] = []any{recordKey(r.Key), storage.Text(r.Title), storage.Text(r.Description), annotations, strings.Join(r.Truncated, " "), r.Digest}
	}
	return tx.UpdateRows(ctx, `UPDATE alert_records SET title = v.column2, description = v.column3, annotations = v.column4,
		truncated = v.column5, digest = v.column6`, rows, "WHERE record_key = v.column1")
}

// alertPositions follows alert_records.
var alertPositions = positions.Counter[string]{
	Blocks: "alert_blocks", Rows: "SELECT " + recordClassColumns + " FROM alert_records WHERE", At: "at_us", ID: "id", Read: scanRecordClass,
}

const recordClassColumns = "at_us, id, severity, completed_us IS NULL"

// classFiring is the part of a class for a record that is not complete. The rest is the severity.
const classFiring = 4

func recordClass(s alarms.Severity, firing bool) uint8 {
	class := uint8(s) & 3
	if firing {
		class |= classFiring
	}
	return class
}

func scanRecordClass(row storage.Scanner) (at positions.Place[string], class uint8, err error) {
	var (
		severity alarms.Severity
		firing   bool
	)
	err = row.Scan(&at.Micros, &at.ID, &severity, &firing)
	return at, recordClass(severity, firing), err
}

// maxExclusiveWait is how long an engine waits for another one, which may be gone without the database
// having noticed. The sender of alerts waits meanwhile.
const maxExclusiveWait = 5 * time.Second

// WithLock implements history.Store.
func (s *Store) WithLock(ctx context.Context, work func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, maxExclusiveWait)
	defer cancel()
	began := false
	err := s.set.Exclusive(wait, "alerts", func(storage.Updater) error {
		began = true
		return work(ctx)
	})
	if began || wait.Err() == nil || ctx.Err() != nil {
		return err
	}
	s.set.Logger().Warn("lock on alert records timed out; continuing without it", "error", err)
	return work(ctx)
}

// addRecords adds the records that are not there and returns what that changes in the counts.
func addRecords(ctx context.Context, tx *storage.Tx, add []alerting.Record) ([]positions.Change[string], error) {
	sources, err := sourceIDs(ctx, tx, add)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(add))
	for i := range add {
		r := &add[i]
		labels, err := search.WriteLabels(r.Labels)
		if err != nil {
			return nil, err
		}
		brief := ""
		if len(labels) > wholeLabels {
			if brief, err = search.WriteLabels(r.Brief().Labels); err != nil {
				return nil, err
			}
		}
		annotations, err := search.WriteLabels(r.Annotations)
		if err != nil {
			return nil, err
		}
		rows[i] = []any{r.ID, recordKey(r.Key), storage.Text(r.Key.Alarm), r.Key.At.UnixMicro(), int64(r.Severity), sources[storage.Text(r.Source)],
			storage.Text(r.SourceType), storage.Text(r.Title), storage.Text(r.Description), labels, annotations, storage.Timestamp(r.CompletedAt), brief, strings.Join(r.Truncated, " "), r.Digest}
	}
	const into, again = `INSERT INTO alert_records (id, record_key, alarm, at_us, severity, source_id, source_type, title,
		description, labels, annotations, completed_us, brief, truncated, digest) VALUES`, "ON CONFLICT DO NOTHING"
	moved := make([]positions.Change[string], 0, len(add))
	if tx.Features().MultiRow {
		err = tx.InsertReturning(ctx, into, rows, again+" RETURNING "+recordClassColumns, func(row storage.Scanner) error {
			at, class, err := scanRecordClass(row)
			moved = append(moved, positions.Inserted(at, class))
			return err
		})
		return moved, err
	}
	for i, row := range rows { // the number of rows costs less than a row that comes back
		n, err := tx.Exec(ctx, into+" (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "+again, row...)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			r := &add[i]
			moved = append(moved, positions.Inserted(positions.Place[string]{Micros: r.Key.At.UnixMicro(), ID: r.ID}, recordClass(r.Severity, r.CompletedAt.IsZero())))
		}
	}
	return moved, nil
}

// sourceIDs returns the number of each source, and a number to those that are new.
func sourceIDs(ctx context.Context, tx *storage.Tx, add []alerting.Record) (map[string]int64, error) {
	ids := make(map[string]int64)
	var names []any
	for i := range add {
		name := storage.Text(add[i].Source)
		if _, again := ids[name]; !again {
			ids[name] = 0
			names = append(names, name)
		}
	}
	err := tx.EachIn(ctx, "SELECT source, id FROM alert_sources WHERE source IN ", names, "", func(row storage.Scanner) error {
		var (
			name string
			id   int64
		)
		err := row.Scan(&name, &id)
		ids[name] = id
		return err
	})
	if err != nil {
		return nil, err
	}
	var (
		last int64
		rows [][]any
	)
	for _, name := range names {
		if ids[name.(string)] != 0 {
			continue
		}
		if last == 0 {
			if err := tx.Row(ctx, "SELECT COALESCE(MAX(id), 0) FROM alert_sources", nil, &last); err != nil {
				return nil, err
			}
		}
		last++
		ids[name.(string)] = last
		rows = append(rows, []any{last, name, history.FoldSource(name.(string))})
	}
	return ids, tx.Insert(ctx, "INSERT INTO alert_sources (id, source, folded) VALUES", rows, "")
}

// RelatedRecords implements [history.ReceiverStore].
func (s *Store) RelatedRecords(ctx context.Context, keys []alerting.RecordKey) (history.Related, error) {
	var whole, names []any
	alarm := func(k alerting.RecordKey) string { return storage.Text(k.Alarm) }
	for _, k := range storage.Distinct(keys, recordKey) {
		whole = append(whole, recordKey(k))
	}
	for _, k := range storage.Distinct(keys, alarm) {
		names = append(names, alarm(k))
	}
	var found history.Related
	err := s.set.View(ctx, "alerts.related", func(ctx context.Context, tx *storage.Tx) error {
		found = history.Related{}
		seen := make(map[string]bool)
		read := func(row storage.Scanner) error {
			var (
				r  alerting.Record
				at int64
			)
			if err := row.Scan(&r.ID, &r.Key.Alarm, &at, (*storage.Timestamp)(&r.CompletedAt), &r.Digest); err != nil {
				return err
			}
			r.Key.At = time.UnixMicro(at).UTC()
			if !seen[r.ID] {
				seen[r.ID] = true
				found.Records = append(found.Records, r)
			}
			return nil
		}
		const query = "SELECT id, alarm, at_us, completed_us, digest FROM alert_records WHERE "
		if err := tx.EachIn(ctx, query+"record_key IN ", whole, "", read); err != nil {
			return err
		}
		if err := tx.EachIn(ctx, query+"completed_us IS NULL AND alarm IN ", names, "", read); err != nil {
			return err
		}
		return readEnds(ctx, tx, names, &found.Ends)
	})
	return found, err
}

// CountOpen implements history.Store.
func (s *Store) CountOpen(ctx context.Context, prefix string) (n int64, err error) {
	err = s.set.View(ctx, "alerts.open", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, `SELECT COUNT(*) FROM alert_records WHERE completed_us IS NULL AND alarm LIKE ? ESCAPE '\'`,
			[]any{search.EscapeLike(storage.Text(prefix)) + "%"}, &n)
	})
	return n, err
}

// TrimRecords implements history.Store.
func (s *Store) TrimRecords(ctx context.Context, before time.Time) error {
	if err := alertPositions.Repair(ctx, s.set, "alert_sources"); err != nil {
		return err
	}
	for _, part := range []struct {
		query   string
		args    []any
		counted bool
	}{
		// A record was raised before it was completed, so that the index by that time leads to it.
		{"DELETE FROM alert_records WHERE id IN (SELECT id FROM alert_records WHERE at_us < ? AND completed_us < ? LIMIT ?)",
			[]any{before.UnixMicro(), storage.Timestamp(before)}, true},
		{"DELETE FROM alert_ends WHERE alarm IN (SELECT alarm FROM alert_ends WHERE told_us < ? LIMIT ?)", []any{before.UnixMicro()}, false},
		{`DELETE FROM alert_sources WHERE id IN (SELECT s.id FROM alert_sources s
			WHERE NOT EXISTS (SELECT 1 FROM alert_records r WHERE r.source_id = s.id) LIMIT ?)`, nil, false},
	} {
		err := s.set.Delete(ctx, "alerts.trim", func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
			if err := tx.Lock(ctx, "alert_sources"); err != nil {
				return 0, err
			}
			args := append(slices.Clip(part.args), limit)
			if part.counted {
				return trimRecords(ctx, tx, part.query, args)
			}
			return tx.Exec(ctx, part.query, args...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// trimRecords removes records and takes them from the counts.
func trimRecords(ctx context.Context, tx *storage.Tx, query string, args []any) (int64, error) {
	var gone []positions.Change[string]
	err := tx.Each(ctx, query+" RETURNING "+recordClassColumns, args, func(row storage.Scanner) error {
		at, class, err := scanRecordClass(row)
		gone = append(gone, positions.Deleted(at, class))
		return err
	})
	if err != nil {
		return 0, err
	}
	return int64(len(gone)), alertPositions.Apply(ctx, tx, gone)
}
