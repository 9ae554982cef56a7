package aasstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage"
)

// totalCache keeps what was counted, for those who turn pages. A total holds as long as nothing that
// documents of its kinds are found by has changed, which aas_counts shows. One that takes long to count
// follows the changes that this process makes: it knows what it has counted, and looks at no documents
// but those that have changed.
type totalCache struct {
	mu      sync.Mutex
	known   map[string]*cachedTotal
	members int // of all totals, at the most
}

type cachedTotal struct {
	mu       sync.Mutex
	changes  int64 // of the kinds, when it was counted
	total    int
	finished int64               // see logMark
	members  map[uint64]struct{} // hashes of the keys that were counted; nil where it does not follow
}

const (
	maxTotals   = 1000
	maxTotalKey = 2000 // bytes of a query; the total of a longer one is not kept

	maxMembers    = 200_000 // of one total that follows; 16 bytes each
	maxAllMembers = 2 * maxMembers
	maxAffected   = 1000 // documents that a total looks at again
)

var memberSeed = maphash.MakeSeed()

func (a *totalCache) get(key string) *cachedTotal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[key]
}

func (a *totalCache) put(key string, t *cachedTotal) {
	if len(key) > maxTotalKey {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.members += len(t.members); a.known == nil || len(a.known) >= maxTotals || a.members > maxAllMembers {
		a.known, a.members = make(map[string]*cachedTotal), len(t.members)
	}
	a.known[key] = t
}

// count returns the number of documents that a query selects. It comes first in its transaction.
func (f *finder) count(ctx context.Context) (total int, err error) {
	if f.everything() {
		err = f.tx.Row(ctx, "SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT) FROM aas_counts WHERE kind = ?", []any{int64(f.q.Kind)}, &total)
		return total, err
	}
	key := fmt.Sprintf("%d %q %q %q", f.q.Kind, f.q.IDShort, f.contains, f.q.Terms)
	if l := f.q.Linked; l != nil {
		key += fmt.Sprintf(" %q %d %q", l.Name, l.Kind, l.Term)
	}
	// The transaction sees one state of the database: a total and its changes belong together.
	fresh := &cachedTotal{finished: f.mark.finished}
	err = f.tx.Row(ctx, "SELECT CAST(COALESCE(SUM(changes), 0) AS BIGINT) FROM aas_counts WHERE kind IN (?, ?)",
		[]any{int64(f.q.Kind), int64(f.otherKind())}, &fresh.changes)
	if err != nil {
		return 0, err
	}
	few := true
	if t := f.store.totals.get(key); t != nil {
		total, ok, err := f.follow(ctx, t, fresh.changes)
		if ok || err != nil {
			return total, err
		}
		few = total <= maxMembers
	}
	q, err := f.selected(ctx)
	if err != nil {
		return 0, err
	}
	if few && f.slow() && f.store.changes.still(f.mark) {
		err = f.gather(ctx, q, fresh)
	}
	if err == nil && fresh.members == nil {
		err = f.tx.Row(ctx, q.text("SELECT COUNT(*) FROM ", ""), q.args, &fresh.total)
	}
	if err == nil {
		f.store.totals.put(key, fresh)
	}
	return fresh.total, err
}

// otherKind returns the second kind of document that decides what a query selects.
func (f *finder) otherKind() repository.Kind {
	if f.q.Linked != nil {
		return f.q.Linked.Kind
	}
	return f.q.Kind
}

// slow reports whether counting looks up something else for each document.
func (f *finder) slow() bool {
	conditions := len(f.q.Terms)
	if f.contains != "" || f.q.IDShort != "" {
		conditions++
	}
	return f.q.Linked != nil || conditions > 1
}

// selected returns the statement for everything that a query selects.
func (f *finder) selected(ctx context.Context) (*query, error) {
	if f.q.Linked != nil && f.q.IDShort == "" && f.contains == "" && len(f.q.Terms) == 0 {
		return &query{from: "(SELECT DISTINCT id FROM (" + fromLink + ") AS l) AS d", args: f.linkArgs()}, nil
	}
	return f.selecting(ctx)
}

// gather counts and keeps what it has counted, unless that is too much.
func (f *finder) gather(ctx context.Context, q *query, t *cachedTotal) error {
	t.members = make(map[uint64]struct{})
	args := append(slices.Clone(q.args), maxMembers+1)
	err := f.tx.Each(ctx, q.text("SELECT d.id FROM ", " LIMIT ?"), args, func(row storage.Scanner) error {
		var key string
		err := row.Scan(&key)
		t.members[maphash.String(memberSeed, key)] = struct{}{}
		return err
	})
	if t.total = len(t.members); t.total > maxMembers {
		t.members = nil
	}
	return err
}

// follow brings a total to the state that the transaction sees. ok reports whether it could: when there
// are changes that are not known, it must be counted again, and total is what it was.
func (f *finder) follow(ctx context.Context, t *cachedTotal, changes int64) (total int, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changes == changes {
		return t.total, true, nil
	}
	if t.members == nil {
		return t.total, false, nil
	}
	// Every change that is finished at the mark is seen by the transaction. When it sees as many as
	// these, it sees no others.
	made, complete := f.store.changes.between(t.finished, f.mark.finished, f.q.Kind, f.otherKind())
	if !complete || changes-t.changes != int64(len(made)) {
		return t.total, false, nil
	}
	affected, err := f.affected(ctx, made)
	if err != nil || len(affected) > maxAffected {
		return t.total, false, err
	}
	var now []string
	for marks, part := range storage.InLists(affected) {
		q, err := f.selecting(ctx)
		if err != nil {
			return 0, false, err
		}
		q.and("d.id IN "+marks, part...)
		keys, err := f.readKeys(ctx, q.text("SELECT d.id FROM ", ""), q.args)
		if err != nil {
			return 0, false, err
		}
		now = append(now, keys...)
	}
	for _, key := range affected {
		delete(t.members, maphash.String(memberSeed, key.(string)))
	}
	for _, key := range now {
		t.members[maphash.String(memberSeed, key)] = struct{}{}
	}
	t.changes, t.finished, t.total = changes, f.mark.finished, len(t.members)
	if t.total > maxMembers {
		t.members = nil
	}
	return t.total, true, nil
}

// affected returns the keys of the documents that changes may have brought in or out: those that have
// changed, and those that lead to one.
func (f *finder) affected(ctx context.Context, made []madeChange) (keys []any, err error) {
	for _, c := range made {
		if c.kind == f.q.Kind {
			keys = append(keys, c.key)
		}
		if l := f.q.Linked; l != nil && c.kind == l.Kind && len(keys) <= maxAffected {
			from, err := f.readKeys(ctx, "SELECT id FROM aas_terms WHERE kind = ? AND name = ? AND value = ? LIMIT ?",
				[]any{int64(f.q.Kind), l.Name, c.key, maxAffected + 1})
			if err != nil {
				return nil, err
			}
			for _, key := range from {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}
