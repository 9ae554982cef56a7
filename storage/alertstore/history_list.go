package alertstore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/internal/ranked"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/positions"
	"github.com/otkit/otkit/storage/internal/search"
)

const (
	selectRecord = `SELECT r.id, r.alarm, r.at_us, r.severity, s.source, r.source_type, r.title, r.description, r.labels,
	r.completed_us, r.truncated, r.annotations, r.digest FROM alert_records r JOIN alert_sources s ON s.id = r.source_id `

	// wholeLabels is how long the JSON of labels may be to be read for a list.
	wholeLabels = 8 << 10
	// selectBrief reads no more than a list shows, also of records that an earlier version stored without a limit.
	selectBrief = `SELECT r.id, r.alarm, r.at_us, r.severity, s.source, r.source_type, substr(r.title, 1, 1000), substr(r.description, 1, 2000),
	CASE WHEN r.brief <> '' THEN r.brief WHEN octet_length(r.labels) <= 8192 THEN r.labels ELSE '' END,
	r.completed_us, CASE WHEN octet_length(r.labels) <= 8192 THEN r.truncated ELSE r.truncated || ' labels' END, '', r.digest
	FROM alert_records r JOIN alert_sources s ON s.id = r.source_id `
)

func scanRecord(row storage.Scanner) (alerting.Record, error) {
	var (
		r                   alerting.Record
		at                  int64
		labels, annotations string
		truncated           string
	)
	err := row.Scan(&r.ID, &r.Key.Alarm, &at, &r.Severity, &r.Source, &r.SourceType, &r.Title, &r.Description, &labels,
		(*storage.Timestamp)(&r.CompletedAt), &truncated, &annotations, &r.Digest)
	if err != nil {
		return r, err
	}
	r.Key.At = time.UnixMicro(at).UTC()
	for _, member := range strings.Fields(truncated) {
		if !slices.Contains(r.Truncated, member) {
			r.Truncated = append(r.Truncated, member)
		}
	}
	var lerr, aerr error
	r.Labels, lerr = search.ReadLabels(labels)
	r.Annotations, aerr = search.ReadLabels(annotations)
	if err := errors.Join(lerr, aerr); err != nil {
		return r, storage.ErrCorrupt.On("alert", r.ID).Wrap(err)
	}
	return r, nil
}

// Record implements [history.Store].
func (s *Store) Record(ctx context.Context, id string) (r alerting.Record, err error) {
	err = s.set.View(ctx, "alerts.get", func(ctx context.Context, tx *storage.Tx) error {
		err := sql.ErrNoRows
		each := tx.Each(ctx, selectRecord+"WHERE r.id = ?", []any{storage.Text(id)}, func(row storage.Scanner) error {
			r, err = scanRecord(row)
			return err
		})
		return errors.Join(each, err)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return alerting.Record{}, history.ErrNotFound.On("id", id)
	}
	return r, err
}

// Records implements [history.Store].
func (s *Store) Records(ctx context.Context, f history.Filter, offset, limit int) ([]alerting.Record, int64, error) {
	var (
		page  []alerting.Record
		total int64
	)
	offset = max(offset, 0)
	err := s.set.View(ctx, "alerts.list", func(ctx context.Context, tx *storage.Tx) error {
		page, total = nil, 0
		at, err := findRecords(ctx, tx, f, offset, limit)
		if err != nil {
			return err
		}
		which := f
		if at.Counted {
			total = int64(at.Total)
			which.From, which.To = time.Time{}, time.Time{} // the place of the page is among all times
		} else {
			where, args := recordsWhere(f, "severity")
			if err := tx.Row(ctx, "SELECT COUNT(*) FROM alert_records WHERE "+where, args, &total); err != nil {
				return err
			}
			at.Rows, at.Skip = limit, offset
			at.Before.Micros = math.MaxInt64
		}
		if at.Rows <= 0 || int64(offset) >= total {
			return nil
		}
		where, args := recordsWhere(which, "+severity")
		args = append(args, at.Before.Micros, at.Before.Micros, at.Before.ID, at.Rows, at.Skip)
		return tx.Each(ctx, selectBrief+"WHERE r.id IN (SELECT id FROM alert_records WHERE "+where+
			" AND at_us <= ? AND (at_us, id) < (?, ?) ORDER BY at_us DESC, id DESC LIMIT ? OFFSET ?) ORDER BY r.at_us DESC, r.id DESC", args, func(row storage.Scanner) error {
			r, err := scanRecord(row)
			page = append(page, r.Brief())
			return err
		})
	})
	return page, total, err
}

// findRecords returns where a page is, unless the filter is about more than severity, state and time.
func findRecords(ctx context.Context, tx *storage.Tx, f history.Filter, offset, limit int) (positions.Page[string], error) {
	if f.Source != "" || f.Text != "" || len(f.Labels) > 0 {
		return positions.Page[string]{}, nil
	}
	sel := positions.Selection{Set: ranked.SetOf(func(class uint8) bool {
		firing := class&classFiring != 0
		return class < 2*classFiring && f.Severities.Has(alarms.Severity(class&3)) && (f.State == "" || (f.State == history.Firing) == firing)
	})}
	sel.From, sel.To = search.Bounds(f.From, f.To)
	return alertPositions.Find(ctx, tx, sel, offset, limit, func(from int64, before positions.Place[string]) (n int, err error) {
		some := f
		some.From, some.To = time.Time{}, time.Time{}
		where, args := recordsWhere(some, "+severity")
		err = tx.Row(ctx, "SELECT COUNT(*) FROM alert_records WHERE "+where+" AND at_us >= ? AND at_us <= ? AND (at_us, id) < (?, ?)",
			append(args, from, before.Micros, before.Micros, before.ID), &n)
		return n, err
	})
}

// recordsWhere returns the condition for what a filter chooses. The severity is compared as named:
// +severity keeps its index from being used, so that records come from the index by time in order.
func recordsWhere(f history.Filter, severity string) (string, []any) {
	where, args := "1 = 1", []any(nil)
	if !f.From.IsZero() || !f.To.IsZero() {
		from, to := search.Bounds(f.From, f.To)
		where += " AND at_us >= ? AND at_us < ?"
		args = append(args, from, to)
	}
	switch f.State {
	case history.Firing:
		where += " AND completed_us IS NULL"
	case history.Resolved:
		where += " AND completed_us IS NOT NULL"
	}
	if f.Severities != 0 {
		where += " AND " + severity + " IN (?, ?, ?, ?)"
		args = append(args, search.Severities(f.Severities)...)
	}
	if f.Source != "" {
		where += ` AND source_id IN (SELECT id FROM alert_sources WHERE folded LIKE ? ESCAPE '\')`
		args = append(args, "%"+search.EscapeLike(storage.Text(history.FoldSource(f.Source)))+"%")
	}
	if f.Text != "" {
		part := "%" + search.EscapeLike(storage.Text(alarms.FoldCase(f.Text))) + "%"
		where += ` AND (lower(title) LIKE ? ESCAPE '\' OR lower(description) LIKE ? ESCAPE '\')`
		args = append(args, part, part)
	}
	return search.Where(where, args, nil, f.Labels)
}

// CountBySeverity implements [history.Statistics].
func (s *Store) CountBySeverity(ctx context.Context, start, end time.Time) ([]history.SeverityCount, error) {
	var counts []history.SeverityCount
	err := s.set.View(ctx, "alerts.by_severity", func(ctx context.Context, tx *storage.Tx) error {
		counts = nil
		for _, severity := range alarms.Severities() {
			f := history.Filter{Severities: alarms.SetOf(severity), From: start, To: end}
			c := history.SeverityCount{Severity: severity}
			at, err := findRecords(ctx, tx, f, 0, 0)
			if c.Count = int64(at.Total); err == nil && !at.Counted {
				where, args := recordsWhere(f, "+severity")
				err = tx.Row(ctx, "SELECT COUNT(*) FROM alert_records WHERE "+where, args, &c.Count)
			}
			if err != nil {
				return err
			}
			counts = append(counts, c)
		}
		return nil
	})
	return counts, err
}

// CountBySource implements [history.Statistics].
func (s *Store) CountBySource(ctx context.Context, start, end time.Time) ([]history.SourceCount, error) {
	from, to := search.Bounds(start, end)
	var counts []history.SourceCount
	err := s.set.View(ctx, "alerts.by_source", func(ctx context.Context, tx *storage.Tx) error {
		counts = nil
		return tx.Each(ctx, `SELECT s.source, (SELECT COUNT(*) FROM alert_records r WHERE r.source_id = s.id
			AND r.at_us >= ? AND r.at_us < ?) AS n FROM alert_sources s ORDER BY n DESC, s.source LIMIT ?`, []any{from, to, history.MaxSources}, func(row storage.Scanner) error {
			var c history.SourceCount
			err := row.Scan(&c.Source, &c.Count)
			if c.Count > 0 {
				counts = append(counts, c)
			}
			return err
		})
	})
	return counts, err
}
