package auditstore

import (
	"context"
	"strings"
	"time"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/storage"
)

// from joins each intent or event with its first outcome.
const from = ` FROM audit_entries i LEFT JOIN audit_entries o
	ON o.seq = (SELECT MIN(x.seq) FROM audit_entries x WHERE x.intent = i.seq)`

// Records implements [audit.Store].
func (s *Store) Records(ctx context.Context, q audit.Query) (page []audit.Record, total int64, err error) {
	where, args := conditions(q)
	counted := " FROM audit_entries i"
	if q.Outcome != "" {
		counted = from
	}
	err = s.set.View(ctx, "audit.records", func(ctx context.Context, tx *storage.Tx) error {
		page, total = nil, 0
		if q.Count {
			if err := tx.Row(ctx, "SELECT COUNT(*)"+counted+where, args, &total); err != nil {
				return err
			}
		}
		query := "SELECT i." + strings.ReplaceAll(columns, ", ", ", i.") + ", o.at_us, o.outcome, o.code, o.detail" + from + where +
			" ORDER BY i.seq DESC LIMIT ? OFFSET ?"
		return tx.Each(ctx, query, append(args[:len(args):len(args)], q.Limit, q.Offset), func(row storage.Scanner) error {
			r, err := scanRecord(row, q.LostBefore)
			page = append(page, r)
			return err
		})
	})
	return page, total, err
}

func scanRecord(row storage.Scanner, lostBefore time.Time) (audit.Record, error) {
	var e audit.Entry
	var at *int64
	var outcome, code, detail *string
	if err := scanEntry(row, &e, &at, &outcome, &code, &detail); err != nil {
		return audit.Record{}, err
	}
	if at == nil {
		return audit.Join(e, nil, lostBefore), nil
	}
	return audit.Join(e, &audit.Entry{Time: time.UnixMicro(*at).UTC(),
		Result: audit.Result{Outcome: audit.Outcome(*outcome), Code: *code, Detail: *detail}}, lostBefore), nil
}

// conditions returns the WHERE clause of a query.
func conditions(q audit.Query) (where string, args []any) {
	where = " WHERE i.intent IS NULL"
	and := func(condition string, arg ...any) {
		where += " AND " + condition
		args = append(args, arg...)
	}
	if !q.From.IsZero() {
		and("i.at_us >= ?", storage.CeilMicros(q.From))
	}
	if !q.To.IsZero() {
		and("i.at_us < ?", storage.CeilMicros(q.To))
	}
	if q.Actor != "" {
		and("i.actor = ?", storage.Text(q.Actor))
	}
	if q.Action != "" {
		and("i.action = ?", storage.Text(q.Action))
	}
	if q.Object != "" {
		and("REPLACE(i.objects, ?, '') <> i.objects", "\n"+storage.Text(q.Object)+"\n")
	}
	if q.ID != 0 {
		and("i.seq = ?", q.ID)
	}
	if q.Before != 0 {
		and("i.seq < ?", q.Before)
	}
	switch lost := storage.CeilMicros(q.LostBefore); q.Outcome {
	case "":
	case audit.Pending:
		and("i.outcome = '' AND o.outcome IS NULL AND i.at_us >= ?", lost)
	case audit.Unknown:
		and("(i.outcome = 'unknown' OR o.outcome = 'unknown' OR i.outcome = '' AND o.outcome IS NULL AND i.at_us < ?)", lost)
	default:
		and("(i.outcome = ? OR i.outcome = '' AND o.outcome = ?)", string(q.Outcome), string(q.Outcome))
	}
	return where, args
}
