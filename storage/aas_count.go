package storage

import (
	"context"
	"fmt"
	"sync"
)

// aasTotals keeps what was counted, for those who turn pages. A total holds as long as nothing that
// documents of its kinds are found by has changed, which aas_counts tells.
type aasTotals struct {
	mu    sync.Mutex
	known map[string]aasTotal
}

type aasTotal struct {
	changes int64 // of the kinds, when it was counted
	total   int
}

const (
	maxTotals   = 1000
	maxTotalKey = 2000 // bytes of a query; the total of a longer one is not kept
)

func (a *aasTotals) get(key string, changes int64) (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.known[key]
	return t.total, ok && t.changes == changes
}

func (a *aasTotals) put(key string, t aasTotal) {
	if len(key) > maxTotalKey {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxTotals {
		a.known = make(map[string]aasTotal)
	}
	a.known[key] = t
}

// count gives the number of documents that a query selects.
func (f *finder) count(ctx context.Context) (total int, err error) {
	kind, other := int64(f.q.Kind), int64(f.q.Kind)
	key := fmt.Sprintf("%d %q %q %q", kind, f.q.IDShort, f.contains, f.q.Terms)
	if l := f.q.Linked; l != nil {
		other = int64(l.Kind)
		key += fmt.Sprintf(" %q %d %q", l.Name, l.Kind, l.Term)
	}
	var changes int64
	if !f.everything() {
		// The transaction sees one state of the database: a total and its changes belong together.
		err := f.tx.Row(ctx, "SELECT CAST(COALESCE(SUM(changes), 0) AS BIGINT) FROM aas_counts WHERE kind IN (?, ?)", []any{kind, other}, &changes)
		if err != nil {
			return 0, err
		}
		if total, ok := f.totals.get(key, changes); ok {
			return total, nil
		}
	}
	text, args, err := f.countText(ctx)
	if err != nil {
		return 0, err
	}
	if err = f.tx.Row(ctx, text, args, &total); err == nil && !f.everything() {
		f.totals.put(key, aasTotal{changes, total})
	}
	return total, err
}

func (f *finder) countText(ctx context.Context) (string, []any, error) {
	if f.everything() {
		return "SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT) FROM aas_counts WHERE kind = ?", []any{int64(f.q.Kind)}, nil
	}
	if f.q.Linked != nil && f.q.IDShort == "" && f.contains == "" && len(f.q.Terms) == 0 {
		return "SELECT COUNT(*) FROM (SELECT DISTINCT id FROM (" + fromLink + ") AS l) AS d", f.linkArgs(), nil
	}
	q := f.conditions()
	err := f.linked(ctx, q)
	return q.text("SELECT COUNT(*) FROM ", ""), q.args, err
}
