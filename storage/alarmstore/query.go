package alarmstore

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/ranked"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/positions"
	"github.com/otkit/otkit/storage/internal/search"
)

// Parts of a list that have an index of their own.
const (
	partActive   = "active"
	partReturned = "NOT active AND acknowledged_us IS NULL"
)

// occurrencesWhere returns the condition for what a query selects, without Before, Offset and Limit.
func occurrencesWhere(q *alarms.Query) (string, []any) {
	where, args := "1 = 1", []any(nil)
	if q.Active {
		where += " AND active"
	}
	if q.Unacknowledged {
		where += " AND acknowledged_us IS NULL"
	}
	if q.Acknowledged {
		where += " AND acknowledged_us IS NOT NULL"
	}
	switch q.Suppressed {
	case alarms.ExcludeSuppressed:
		where += " AND withheld = 0"
	case alarms.OnlySuppressed:
		where += " AND withheld <> 0"
	}
	switch q.State {
	case "":
	case alarms.ListActive:
		where += " AND " + partActive + " AND withheld = 0"
	case alarms.ListReturned:
		where += " AND " + partReturned + " AND withheld = 0"
	case alarms.ListAll:
		where += " AND (" + partActive + " OR (" + partReturned + "))"
	default:
		where += " AND (active OR acknowledged_us IS NULL) AND seq IN (SELECT last_seq FROM alarm_conditions WHERE withheld <> 0 AND (withheld & " +
			strconv.Itoa(int(q.State.Reason())) + ") <> 0)"
	}
	if q.Severities != 0 {
		where += " AND severity IN (?, ?, ?, ?)"
		args = append(args, search.Severities(q.Severities)...)
	}
	if q.Code != 0 {
		where += " AND code = ?"
		args = append(args, q.Code)
	}
	if !q.Start.IsZero() || !q.End.IsZero() {
		from, to := search.Bounds(q.Start, q.End)
		where += " AND raised_us >= ? AND raised_us < ?"
		args = append(args, from, to)
	}
	return search.Where(where, args, []search.Part{{Column: "source", Text: q.Source}, {Column: "message", Text: q.Text}}, q.Labels)
}

// alarmPositions follows alarm_occurrences.
var alarmPositions = positions.Counter[int64]{
	Blocks: "alarm_blocks", Rows: "SELECT " + classColumns + " FROM alarm_occurrences WHERE", At: "raised_us", ID: "seq", Read: scanClass,
}

const classColumns = "raised_us, seq, severity, active, acknowledged_us IS NOT NULL, withheld"

func scanClass(row storage.Scanner) (positions.Place[int64], uint8, error) {
	var (
		at           positions.Place[int64]
		o            alarms.Occurrence
		acknowledged bool
	)
	err := row.Scan(&at.Micros, &at.ID, &o.Severity, &o.Active, &acknowledged, &o.Suppression)
	if acknowledged {
		o.AcknowledgedAt = time.Unix(1, 0)
	}
	return at, o.Class(), err
}

// selectUnlabeled is selectOccurrence without the labels.
var selectUnlabeled = strings.Replace(selectOccurrence, "o.labels", "''", 1)

// Occurrences implements alarms.Store.
func (s *Store) Occurrences(ctx context.Context, q alarms.Query) (alarms.Page, error) {
	var page alarms.Page
	q.Offset = max(q.Offset, 0)
	err := s.set.View(ctx, "alarms.list", func(ctx context.Context, tx *storage.Tx) error {
		page = alarms.Page{Occurrences: []alarms.Occurrence{}}
		var at positions.Page[int64]
		if q.Counted() && (q.Count || q.Offset > 0) && q.Before.Seq == 0 {
			var err error
			if at, err = findOccurrences(ctx, tx, &q); err != nil {
				return err
			}
		}
		which := q
		if at.Counted {
			// The rows to skip are those after the end as well, and so many as the page has are not before the start.
			which.Start, which.End = time.Time{}, time.Time{}
		} else {
			at.Rows, at.Skip = q.Limit, q.Offset
		}
		where, args := occurrencesWhere(&which)
		switch {
		case at.Counted:
			where += " AND (raised_us, seq) < (?, ?)"
			args = append(args, at.Before.Micros, at.Before.ID)
		case q.Before.Seq > 0:
			where += " AND (raised_us, seq) < (?, ?)"
			args = append(args, storage.Timestamp(q.Before.RaisedAt), q.Before.Seq)
		}
		if q.Count {
			page.Total = at.Total
			if !at.Counted {
				var err error
				if page.Total, _, _, err = countOccurrences(ctx, tx, &q); err != nil {
					return err
				}
			}
		}
		if at.Rows <= 0 {
			return nil
		}
		list, args := occurrencesPage(&q, where, args, at.Rows, at.Skip)
		columns := selectOccurrence
		if q.NoLabels {
			columns = selectUnlabeled
		}
		return tx.Each(ctx, columns+"WHERE o.seq IN ("+list+") ORDER BY o.raised_us DESC, o.seq DESC", args, func(row storage.Scanner) error {
			o, err := scanOccurrence(row)
			if err != nil {
				return err
			}
			page.Occurrences = append(page.Occurrences, *o)
			return nil
		})
	})
	return page, err
}

// findOccurrences returns the position of a query's page.
func findOccurrences(ctx context.Context, tx *storage.Tx, q *alarms.Query) (positions.Page[int64], error) {
	sel := positions.Selection{Set: ranked.SetOf(q.SelectsClass)}
	sel.From, sel.To = search.Bounds(q.Start, q.End)
	return alarmPositions.Find(ctx, tx, sel, q.Offset, q.Limit, func(from int64, before positions.Place[int64]) (n int, err error) {
		some := *q
		some.Start, some.End = time.Time{}, time.Time{}
		where, args := occurrencesWhere(&some)
		err = tx.Row(ctx, "SELECT COUNT(*) FROM alarm_occurrences WHERE "+where+" AND raised_us >= ? AND raised_us <= ? AND (raised_us, seq) < (?, ?)",
			append(args, from, before.Micros, before.Micros, before.ID), &n)
		return n, err
	})
}

// occurrencesPage returns the query for the numbers of the rows of a page. The rows to skip are looked up in an
// index alone. Active occurrences and those that have returned come from an index each.
func occurrencesPage(q *alarms.Query, where string, args []any, rows, skip int) (string, []any) {
	const order = " ORDER BY raised_us DESC, seq DESC LIMIT ?"
	if q.State != alarms.ListAll {
		return "SELECT seq FROM alarm_occurrences WHERE " + where + order + " OFFSET ?", append(args, rows, skip)
	}
	part := func(name, which string) string {
		return "SELECT * FROM (SELECT seq, raised_us FROM alarm_occurrences WHERE " + which + " AND " + where + order + ") AS " + name
	}
	args = append(args, rows+skip)
	return "SELECT seq FROM (" + part("a", partActive) + " UNION ALL " + part("b", partReturned) + ") AS c" + order + " OFFSET ?",
		append(slices.Concat(args, args), rows, skip)
}

// countOccurrences counts what a query selects and returns the lowest and the highest Seq of it.
func countOccurrences(ctx context.Context, tx *storage.Tx, q *alarms.Query) (total int, first, last int64, err error) {
	where, args := occurrencesWhere(q)
	err = tx.Row(ctx, "SELECT COUNT(*), COALESCE(MIN(seq), 0), COALESCE(MAX(seq), 0) FROM alarm_occurrences WHERE "+where,
		args, &total, &first, &last)
	return total, first, last, err
}

// HourlyCounts implements [alarms.Statistics].
func (s *Store) HourlyCounts(ctx context.Context, start, end time.Time) ([]alarms.HourlyCount, error) {
	var all []alarms.HourlyCount
	err := s.set.View(ctx, "alarms.hours", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		hour := time.Hour.Microseconds()
		// A remainder has the sign of the time: one before 1970 belongs to the hour below.
		return tx.Each(ctx, `SELECT raised_us - ((raised_us % ?) + ?) % ? AS hour, severity, COUNT(*) FROM alarm_occurrences
			WHERE raised_us >= ? AND raised_us < ? GROUP BY 1, 2 ORDER BY 1`,
			[]any{hour, hour, hour, storage.CeilMicros(start), storage.CeilMicros(end)}, func(row storage.Scanner) error {
				var (
					at       time.Time
					severity int
					count    int
				)
				if err := row.Scan((*storage.Timestamp)(&at), &severity, &count); err != nil {
					return err
				}
				if n := len(all); n == 0 || !all[n-1].Start.Equal(at) {
					all = append(all, alarms.HourlyCount{Start: at})
				}
				if severity >= 0 && severity < 4 {
					all[len(all)-1].Counts[severity] += count
				}
				return nil
			})
	})
	return all, err
}

// intervalsSlice is how many intervals are read in one transaction, so that a slow reader keeps none open.
const intervalsSlice = 5000

// ActiveIntervals implements [alarms.Statistics].
func (s *Store) ActiveIntervals(ctx context.Context, start, end time.Time) iter.Seq2[alarms.ActiveInterval, error] {
	return func(yield func(alarms.ActiveInterval, error) bool) {
		after, last := int64(-1), int64(-1)
		for {
			lives := make([]alarms.ActiveInterval, 0, intervalsSlice)
			err := s.set.View(ctx, "alarms.lives", func(ctx context.Context, tx *storage.Tx) error {
				lives = lives[:0]
				if last < 0 {
					_, from, to, err := countOccurrences(ctx, tx, &alarms.Query{Start: start, End: end})
					if err != nil {
						return err
					}
					after, last = from-1, to
				}
				return tx.Each(ctx, `SELECT seq, code, raised_us, cleared_us FROM alarm_occurrences WHERE seq > ? AND seq <= ?
					AND +raised_us >= ? AND +raised_us < ? ORDER BY seq LIMIT ?`,
					[]any{after, last, storage.CeilMicros(start), storage.CeilMicros(end), intervalsSlice}, func(row storage.Scanner) error {
						var l alarms.ActiveInterval
						err := row.Scan(&l.Seq, &l.Code, (*storage.Timestamp)(&l.RaisedAt), (*storage.Timestamp)(&l.ClearedAt))
						lives = append(lives, l)
						return err
					})
			})
			if err != nil {
				yield(alarms.ActiveInterval{}, err)
				return
			}
			for _, l := range lives {
				if !yield(l, nil) {
					return
				}
				after = l.Seq
			}
			if len(lives) < intervalsSlice {
				return
			}
		}
	}
}
