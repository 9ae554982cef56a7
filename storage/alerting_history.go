package storage

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// alertHistory is alerting.HistoryStore.
type alertHistory struct{ db *DB }

// recordKey is a key as one text. The time comes last and has digits only, so that no two keys meet.
func recordKey(k alerting.RecordKey) string {
	return plain(k.Alarm) + "@" + microText(k.At)
}

func (s alertHistory) ApplyRecords(ctx context.Context, add []alerting.Record, complete []alerting.Completion) error {
	if len(add) == 0 && len(complete) == 0 {
		return nil
	}
	add = once(add, func(r alerting.Record) string { return recordKey(r.Key) })
	complete = once(complete, func(c alerting.Completion) string { return recordKey(c.Key) })
	return s.db.Update(ctx, "alerts.apply", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alert_sources"); err != nil {
			return err
		}
		if err := addRecords(ctx, tx, add); err != nil {
			return err
		}
		rows := make([][]any, len(complete))
		for i, c := range complete {
			rows[i] = []any{recordKey(c.Key), microText(c.At)}
		}
		return tx.change(ctx, "UPDATE alert_records SET completed_us = CAST(v.column2 AS BIGINT)", rows,
			"WHERE record_key = v.column1 AND completed_us IS NULL")
	})
}

// maxExclusiveWait is how long an engine waits for another one, which may be gone without the database
// having noticed. The sender of alerts waits meanwhile.
const maxExclusiveWait = 5 * time.Second

// Exclusive implements alerting.HistoryStore.
func (s alertHistory) Exclusive(ctx context.Context, work func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, maxExclusiveWait)
	defer cancel()
	began := false
	err := s.db.state.exclusive(wait, "alerts", func(updater) error {
		began = true
		return work(ctx)
	})
	if began || wait.Err() == nil || ctx.Err() != nil {
		return err
	}
	s.db.opts.Logger.Warn("another engine holds the records of alerts for too long; going on without the lock", "error", err)
	return work(ctx)
}

func addRecords(ctx context.Context, tx *Tx, add []alerting.Record) error {
	sources, err := sourceIDs(ctx, tx, add)
	if err != nil {
		return err
	}
	rows := make([][]any, len(add))
	for i := range add {
		r := &add[i]
		labels, err := writePairs(r.Labels)
		if err != nil {
			return err
		}
		annotations, err := writePairs(r.Annotations)
		if err != nil {
			return err
		}
		rows[i] = []any{r.ID, recordKey(r.Key), plain(r.Key.Alarm), r.Key.At.UnixMicro(), int64(r.Severity), sources[plain(r.Source)],
			plain(r.SourceType), plain(r.Title), plain(r.Description), labels, annotations, Stamp(r.CompletedAt)}
	}
	return tx.Insert(ctx, `INSERT INTO alert_records (id, record_key, alarm, at_us, severity, source_id, source_type, title,
		description, labels, annotations, completed_us) VALUES`, rows, "ON CONFLICT DO NOTHING")
}

// sourceIDs gives the number of each source, and a number to those that are new.
func sourceIDs(ctx context.Context, tx *Tx, add []alerting.Record) (map[string]int64, error) {
	ids := make(map[string]int64)
	var names []any
	for i := range add {
		name := plain(add[i].Source)
		if _, again := ids[name]; !again {
			ids[name] = 0
			names = append(names, name)
		}
	}
	err := tx.eachIn(ctx, "SELECT source, id FROM alert_sources WHERE source IN ", names, "", func(row Scanner) error {
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
		rows = append(rows, []any{last, name, alerting.FoldSource(name.(string))})
	}
	return ids, tx.Insert(ctx, "INSERT INTO alert_sources (id, source, folded) VALUES", rows, "")
}

func (s alertHistory) RelatedRecords(ctx context.Context, keys []alerting.RecordKey) ([]alerting.Record, error) {
	var whole, names []any
	for _, k := range keys {
		whole, names = append(whole, recordKey(k)), append(names, plain(k.Alarm))
	}
	var found []alerting.Record
	err := s.db.View(ctx, "alerts.related", func(ctx context.Context, tx *Tx) error {
		found = nil
		seen := make(map[string]bool)
		read := func(row Scanner) error {
			var (
				r  alerting.Record
				at int64
			)
			if err := row.Scan(&r.ID, &r.Key.Alarm, &at, (*Stamp)(&r.CompletedAt)); err != nil {
				return err
			}
			r.Key.At = time.UnixMicro(at).UTC()
			if !seen[r.ID] {
				seen[r.ID] = true
				found = append(found, r)
			}
			return nil
		}
		const query = "SELECT id, alarm, at_us, completed_us FROM alert_records WHERE "
		if err := tx.eachIn(ctx, query+"record_key IN ", whole, "", read); err != nil {
			return err
		}
		return tx.eachIn(ctx, query+"completed_us IS NULL AND alarm IN ", names, "", read)
	})
	return found, err
}

const selectRecord = `SELECT r.id, r.alarm, r.at_us, r.severity, s.source, r.source_type, r.title, r.description, r.labels,
	r.completed_us, r.annotations FROM alert_records r JOIN alert_sources s ON s.id = r.source_id `

func scanRecord(row Scanner) (alerting.Record, error) {
	var (
		r                   alerting.Record
		at                  int64
		labels, annotations string
	)
	err := row.Scan(&r.ID, &r.Key.Alarm, &at, &r.Severity, &r.Source, &r.SourceType, &r.Title, &r.Description, &labels,
		(*Stamp)(&r.CompletedAt), &annotations)
	if err != nil {
		return r, err
	}
	r.Key.At = time.UnixMicro(at).UTC()
	var lerr, aerr error
	r.Labels, lerr = readPairs(labels)
	r.Annotations, aerr = readPairs(annotations)
	if err := errors.Join(lerr, aerr); err != nil {
		return r, ErrCorrupt.On("alert", r.ID).Wrap(err)
	}
	return r, nil
}

func (s alertHistory) Record(ctx context.Context, id string) (r alerting.Record, err error) {
	err = s.db.View(ctx, "alerts.get", func(ctx context.Context, tx *Tx) error {
		err := sql.ErrNoRows
		each := tx.Each(ctx, selectRecord+"WHERE r.id = ?", []any{plain(id)}, func(row Scanner) error {
			r, err = scanRecord(row)
			return err
		})
		return errors.Join(each, err)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return alerting.Record{}, alerting.ErrRecordNotFound.On("id", id)
	}
	return r, err
}

func (s alertHistory) Records(ctx context.Context, f alerting.RecordFilter, offset, limit int) ([]alerting.Record, int64, error) {
	var (
		page  []alerting.Record
		total int64
	)
	where, args := recordsWhere(f, "severity")
	inOrder, _ := recordsWhere(f, "+severity")
	err := s.db.View(ctx, "alerts.list", func(ctx context.Context, tx *Tx) error {
		page = nil
		if err := tx.Row(ctx, "SELECT COUNT(*) FROM alert_records"+where, args, &total); err != nil {
			return err
		}
		if limit <= 0 || int64(offset) >= total {
			return nil
		}
		paged := append(args[:len(args):len(args)], limit, offset)
		return tx.Each(ctx, selectRecord+"WHERE r.id IN (SELECT id FROM alert_records"+inOrder+
			" ORDER BY at_us DESC, id DESC LIMIT ? OFFSET ?) ORDER BY r.at_us DESC, r.id DESC", paged, func(row Scanner) error {
			r, err := scanRecord(row)
			r.Annotations = nil
			page = append(page, r)
			return err
		})
	})
	return page, total, err
}

// likeText takes the meaning from the characters that have one in LIKE.
var likeText = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// recordsWhere gives the condition for what a filter chooses. The severity is compared as named:
// +severity keeps its index from being used, so that records come from the index by time in order.
func recordsWhere(f alerting.RecordFilter, severity string) (string, []any) {
	if f == (alerting.RecordFilter{}) {
		return "", nil
	}
	from, to := bounds(f.From, f.To)
	where, args := " WHERE at_us >= ? AND at_us < ?", []any{from, to}
	if f.Severities != 0 {
		where += " AND " + severity + " IN (?, ?, ?, ?)"
		args = append(args, severities(f.Severities)...)
	}
	if f.Source != "" {
		where += ` AND source_id IN (SELECT id FROM alert_sources WHERE folded LIKE ? ESCAPE '\')`
		args = append(args, "%"+likeText.Replace(plain(alerting.FoldSource(f.Source)))+"%")
	}
	return where, args
}

func (s alertHistory) CountBySeverity(ctx context.Context, start, end time.Time) ([]alerting.SeverityCount, error) {
	from, to := bounds(start, end)
	var counts []alerting.SeverityCount
	err := s.db.View(ctx, "alerts.by_severity", func(ctx context.Context, tx *Tx) error {
		counts = nil
		for _, severity := range alarms.Severities() { // one by one: each is a piece of the index
			c := alerting.SeverityCount{Severity: severity}
			err := tx.Row(ctx, "SELECT COUNT(*) FROM alert_records WHERE severity = ? AND at_us >= ? AND at_us < ?",
				[]any{int64(severity), from, to}, &c.Count)
			if err != nil {
				return err
			}
			counts = append(counts, c)
		}
		return nil
	})
	return counts, err
}

func (s alertHistory) CountBySource(ctx context.Context, start, end time.Time) ([]alerting.SourceCount, error) {
	from, to := bounds(start, end)
	var counts []alerting.SourceCount
	err := s.db.View(ctx, "alerts.by_source", func(ctx context.Context, tx *Tx) error {
		counts = nil
		return tx.Each(ctx, `SELECT s.source, (SELECT COUNT(*) FROM alert_records r WHERE r.source_id = s.id
			AND r.at_us >= ? AND r.at_us < ?) FROM alert_sources s`, []any{from, to}, func(row Scanner) error {
			var c alerting.SourceCount
			err := row.Scan(&c.Source, &c.Count)
			if c.Count > 0 {
				counts = append(counts, c)
			}
			return err
		})
	})
	return counts, err
}

// TrimRecords implements alerting.HistoryStore.
func (s alertHistory) TrimRecords(ctx context.Context, before time.Time) error {
	for _, part := range []struct {
		query string
		args  []any
	}{
		// A record was raised before it was completed, so that the index by that time leads to it.
		{"DELETE FROM alert_records WHERE id IN (SELECT id FROM alert_records WHERE at_us < ? AND completed_us < ? LIMIT ?)",
			[]any{before.UnixMicro(), Stamp(before), trimSlice}},
		{`DELETE FROM alert_sources WHERE id IN (SELECT s.id FROM alert_sources s
			WHERE NOT EXISTS (SELECT 1 FROM alert_records r WHERE r.source_id = s.id) LIMIT ?)`, []any{trimSlice}},
	} {
		for n := int64(trimSlice); n == trimSlice; {
			err := s.db.Update(ctx, "alerts.trim", func(ctx context.Context, tx *Tx) (err error) {
				if err = tx.lock(ctx, "alert_sources"); err != nil {
					return err
				}
				n, err = tx.Exec(ctx, part.query, part.args...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
