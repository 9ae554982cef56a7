package storage

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/otkit/otkit/alarms"
)

// bounds gives a range of times as numbers, where a zero bound is none.
func bounds(start, end time.Time) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		from = ceilMicro(start)
	}
	if !end.IsZero() {
		to = ceilMicro(end)
	}
	return from, to
}

// ceilMicro gives the first microsecond that is not before t, since what is stored has no parts of one.
func ceilMicro(t time.Time) int64 {
	us := t.UnixMicro()
	if time.UnixMicro(us).Before(t) {
		us++
	}
	return us
}

// severities gives the members of a set, filled up to a list of four.
func severities(set alarms.SeveritySet) []any {
	list := make([]any, 0, 4)
	for _, s := range alarms.Severities() {
		if set.Has(s) {
			list = append(list, int64(s))
		}
	}
	for len(list) < 4 {
		list = append(list, int64(-1))
	}
	return list
}

// occurrencesWhere gives the condition for what a query selects, Before, Offset and Limit apart.
func occurrencesWhere(q *alarms.Query) (string, []any) {
	where, args := "1 = 1", []any(nil)
	if q.Active {
		where += " AND active"
	}
	if q.Unacknowledged {
		where += " AND acknowledged_us IS NULL"
	}
	switch q.Withheld {
	case alarms.ShowOpen:
		where += " AND withheld = 0"
	case alarms.ShowWithheld:
		where += " AND withheld <> 0"
	}
	if q.Severities != 0 {
		where += " AND severity IN (?, ?, ?, ?)"
		args = append(args, severities(q.Severities)...)
	}
	if q.Code != 0 {
		where += " AND code = ?"
		args = append(args, q.Code)
	}
	if !q.Start.IsZero() || !q.End.IsZero() {
		from, to := bounds(q.Start, q.End)
		where += " AND raised_us >= ? AND raised_us < ?"
		args = append(args, from, to)
	}
	return where, args
}

// Occurrences implements alarms.Store.
func (s *AlarmStore) Occurrences(ctx context.Context, q alarms.Query) (alarms.Page, error) {
	var page alarms.Page
	err := s.db.View(ctx, "alarms.list", func(ctx context.Context, tx *Tx) error {
		page = alarms.Page{Occurrences: []alarms.Occurrence{}}
		if q.Count {
			var err error
			if page.Total, _, _, err = countOccurrences(ctx, tx, &q); err != nil {
				return err
			}
		}
		if q.Limit <= 0 {
			return nil
		}
		where, args := occurrencesWhere(&q)
		if q.Before.Seq > 0 {
			where += " AND (raised_us, seq) < (?, ?)"
			args = append(args, Stamp(q.Before.RaisedAt), q.Before.Seq)
		}
		args = append(args, q.Limit, max(q.Offset, 0))
		// The rows to skip are looked up in an index alone.
		return tx.Each(ctx, selectOccurrence+"WHERE o.seq IN (SELECT seq FROM alarm_occurrences WHERE "+where+
			" ORDER BY raised_us DESC, seq DESC LIMIT ? OFFSET ?) ORDER BY o.raised_us DESC, o.seq DESC", args, func(row Scanner) error {
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

// countOccurrences counts what a query selects and gives the lowest and the highest Seq of it.
func countOccurrences(ctx context.Context, tx *Tx, q *alarms.Query) (total int, first, last int64, err error) {
	where, args := occurrencesWhere(q)
	err = tx.Row(ctx, "SELECT COUNT(*), COALESCE(MIN(seq), 0), COALESCE(MAX(seq), 0) FROM alarm_occurrences WHERE "+where,
		args, &total, &first, &last)
	return total, first, last, err
}

// Hours implements alarms.Store.
func (s *AlarmStore) Hours(ctx context.Context, start, end time.Time) ([]alarms.Hour, error) {
	var all []alarms.Hour
	err := s.db.View(ctx, "alarms.hours", func(ctx context.Context, tx *Tx) error {
		all = nil
		hour := time.Hour.Microseconds()
		// A remainder has the sign of the time: one before 1970 belongs to the hour below.
		return tx.Each(ctx, `SELECT raised_us - ((raised_us % ?) + ?) % ? AS hour, severity, COUNT(*) FROM alarm_occurrences
			WHERE raised_us >= ? AND raised_us < ? GROUP BY 1, 2 ORDER BY 1`,
			[]any{hour, hour, hour, ceilMicro(start), ceilMicro(end)}, func(row Scanner) error {
				var (
					at       time.Time
					severity int
					count    int
				)
				if err := row.Scan((*Stamp)(&at), &severity, &count); err != nil {
					return err
				}
				if n := len(all); n == 0 || !all[n-1].Start.Equal(at) {
					all = append(all, alarms.Hour{Start: at})
				}
				if severity >= 0 && severity < 4 {
					all[len(all)-1].Counts[severity] += count
				}
				return nil
			})
	})
	return all, err
}

// livesSlice is how many lives are read at a time, so that a slow reader keeps no transaction open.
const livesSlice = 5000

// Lives implements alarms.Store.
func (s *AlarmStore) Lives(ctx context.Context, start, end time.Time) iter.Seq2[alarms.Life, error] {
	return func(yield func(alarms.Life, error) bool) {
		after, last := int64(-1), int64(-1)
		for {
			lives := make([]alarms.Life, 0, livesSlice)
			err := s.db.View(ctx, "alarms.lives", func(ctx context.Context, tx *Tx) error {
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
					[]any{after, last, ceilMicro(start), ceilMicro(end), livesSlice}, func(row Scanner) error {
						var l alarms.Life
						err := row.Scan(&l.Seq, &l.Code, (*Stamp)(&l.RaisedAt), (*Stamp)(&l.ClearedAt))
						lives = append(lives, l)
						return err
					})
			})
			if err != nil {
				yield(alarms.Life{}, err)
				return
			}
			for _, l := range lives {
				if !yield(l, nil) {
					return
				}
				after = l.Seq
			}
			if len(lives) < livesSlice {
				return
			}
		}
	}
}
