package aasstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage"
)

// Find implements repository.Store.
func (s *Store) Find(ctx context.Context, q repository.Query) (repository.Page, error) {
	var page repository.Page
	mark := s.changes.mark()
	err := s.set.View(ctx, "aas.find", func(ctx context.Context, tx *storage.Tx) error {
		f := finder{tx: tx, store: s, mark: mark, q: q, after: keyOf(q.After), contains: strings.ToLower(q.Contains)}
		f.q.Terms = slices.SortedStableFunc(slices.Values(q.Terms), func(a, b repository.Term) int {
			return cmp.Compare(termCost(a.Name), termCost(b.Name))
		})
		var err error
		page, err = f.find(ctx)
		return err
	})
	return page, err
}

// termCost puts terms in the order in which they are looked for: those that few documents have first.
func termCost(name string) int {
	switch name {
	case "assetKind":
		return broadest
	case "type", "semantic", "assetType", "dataSpecification":
		return 1
	}
	return 0
}

// broadest is the termCost of terms that so many documents have that a part of the idShort is looked for
// first.
const broadest = 2

// finder makes the statements for one query.
type finder struct {
	tx       *storage.Tx
	store    *Store
	mark     logMark // made before the transaction
	q        repository.Query
	after    string
	contains string
	terms    []repository.Term // of q, those that few documents have first; see order
	bytes    int64             // of the page so far
	rows     []row             // of the page, see take
}

// everything reports whether a query selects all documents of its kind.
func (f *finder) everything() bool {
	return f.q.IDShort == "" && f.contains == "" && len(f.q.Terms) == 0 && f.q.Linked == nil
}

func (f *finder) find(ctx context.Context) (page repository.Page, err error) {
	total := math.MaxInt
	backward := f.everything() && f.q.After == "" && f.q.Offset > 1000
	if f.q.Count || backward {
		if total, err = f.count(ctx); err != nil {
			return page, err
		}
		if f.q.Count {
			page.Total = total
		}
		if f.q.Offset >= total && f.q.After == "" {
			return page, nil
		}
	}
	if f.everything() && f.q.Offset == 0 && !f.q.WithoutJSON {
		return page, f.straight(ctx, &page)
	}
	var keys []string
	if backward && f.q.Offset > total/2 {
		keys, err = f.keysFromEnd(ctx, total)
	} else {
		keys, err = f.keys(ctx)
	}
	if err != nil {
		return page, err
	}
	if page.More = len(keys) > f.q.Limit; page.More {
		keys = keys[:f.q.Limit]
	}
	if len(keys) == 0 {
		return page, nil
	}
	switch {
	case f.q.WithoutJSON:
		page.Documents, err = f.heads(ctx, keys)
	case f.q.MaxBytes > 0:
		err = f.bounded(ctx, &page, keys)
	default:
		page.Documents, err = documentsByKey(ctx, f.tx, f.q.Kind, keys)
	}
	return page, err
}

// errPageFull ends the reading of a page.
var errPageFull = errors.New("the page is full")

// take adds the document of a row to a page, or ends the page.
func (f *finder) take(page *repository.Page, from storage.Scanner) error {
	if len(f.rows) == f.q.Limit || f.q.MaxBytes > 0 && f.bytes >= f.q.MaxBytes {
		page.More = true
		return errPageFull
	}
	r, err := scanDocument(from, f.q.Kind)
	f.rows = append(f.rows, r)
	if f.bytes += r.size; r.size == 0 {
		f.bytes += int64(len(r.JSON))
	}
	return err
}

// taken sets the documents of a page to those that were taken.
func (f *finder) taken(ctx context.Context, page *repository.Page, err error) error {
	if err != nil && !errors.Is(err, errPageFull) {
		return err
	}
	for i := range f.rows {
		d, err := f.rows[i].whole(ctx, f.tx)
		if err != nil {
			return err
		}
		page.Documents = append(page.Documents, d)
	}
	return nil
}

// bounded reads the documents of a page, whose keys ascend, until their bytes pass the bound.
func (f *finder) bounded(ctx context.Context, page *repository.Page, keys []string) error {
	wanted := make([]any, len(keys))
	for i, key := range keys {
		wanted[i] = key
	}
	for marks, part := range storage.InLists(wanted) {
		err := f.tx.Each(ctx, selectDocument+"WHERE kind = ? AND id IN "+marks+" ORDER BY id", append([]any{int64(f.q.Kind)}, part...),
			func(row storage.Scanner) error { return f.take(page, row) })
		if err != nil {
			return f.taken(ctx, page, err)
		}
	}
	return f.taken(ctx, page, nil)
}

// straight reads a page of all documents.
func (f *finder) straight(ctx context.Context, page *repository.Page) error {
	err := f.tx.Each(ctx, selectDocument+"WHERE kind = ? AND id > ? ORDER BY id LIMIT ?",
		[]any{int64(f.q.Kind), f.after, f.q.Limit + 1}, func(row storage.Scanner) error { return f.take(page, row) })
	return f.taken(ctx, page, err)
}

// heads returns documents without their JSON.
func (f *finder) heads(ctx context.Context, keys []string) ([]repository.Document, error) {
	found := make(map[string]repository.Document, len(keys))
	wanted := make([]any, len(keys))
	for i, key := range keys {
		wanted[i] = key
	}
	for marks, part := range storage.InLists(wanted) {
		err := f.tx.Each(ctx, "SELECT id, long_id, id_short, version, live, NULL, 0 FROM aas_documents WHERE kind = ? AND id IN "+marks,
			append([]any{int64(f.q.Kind)}, part...), func(from storage.Scanner) error {
				r, err := scanDocument(from, f.q.Kind)
				found[r.key] = r.Document
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	list := make([]repository.Document, len(keys))
	for i, key := range keys {
		list[i] = found[key]
	}
	return list, nil
}

// query is a statement that is being put together. Its rows have a column id.
type query struct {
	from  string
	where []string
	args  []any
}

func (q *query) and(condition string, args ...any) {
	q.where = append(q.where, condition)
	q.args = append(q.args, args...)
}

func (q *query) text(head, tail string) string {
	if len(q.where) == 0 {
		return head + q.from + tail
	}
	return head + q.from + " WHERE " + strings.Join(q.where, " AND ") + tail
}

// enough is a number of documents that it is not worth while to look for a term that fewer have.
const enough = 20

// order brings the terms of a query in the order in which they are looked for. Of those by which one finds
// few documents as a rule, such as asset ids, it counts the documents: an asset id may be that of a plant.
func (f *finder) order(ctx context.Context) error {
	if f.terms != nil {
		return nil
	}
	f.terms = slices.Clone(f.q.Terms)
	n := 0
	for n < len(f.terms) && termCost(f.terms[n].Name) < broadest {
		n++
	}
	if n < 2 || f.q.IDShort != "" {
		return nil
	}
	having := make(map[repository.Term]int, n)
	for i, t := range f.terms[:n] {
		count, err := f.few(ctx, f.q.Kind, t)
		if err != nil {
			return err
		}
		if having[t] = count; count <= enough {
			f.terms[0], f.terms[i] = t, f.terms[0]
			return nil
		}
	}
	slices.SortStableFunc(f.terms[:n], func(a, b repository.Term) int { return cmp.Compare(having[a], having[b]) })
	return nil
}

// few counts the documents that have a term, up to broad.
func (f *finder) few(ctx context.Context, kind repository.Kind, t repository.Term) (n int, err error) {
	err = f.tx.Row(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM aas_terms WHERE kind = ? AND name = ? AND value = ? LIMIT ?) AS few",
		[]any{int64(kind), t.Name, keyOf(t.Value), broad}, &n)
	return n, err
}

// selecting returns the statement for what a query selects, After, Offset and Limit apart.
func (f *finder) selecting(ctx context.Context) (*query, error) {
	if err := f.order(ctx); err != nil {
		return nil, err
	}
	q := f.conditions()
	return q, f.linked(ctx, q)
}

// conditions returns the statement for what a query selects in documents of its kind alone.
func (f *finder) conditions() *query {
	kind := int64(f.q.Kind)
	q := &query{from: "aas_documents d"}
	terms := f.terms
	switch {
	case f.q.IDShort == "" && len(terms) > 0 && (f.contains == "" || termCost(terms[0].Name) < broadest):
		q.from = "aas_terms d"
		q.and("d.kind = ? AND d.name = ? AND d.value = ?", kind, terms[0].Name, keyOf(terms[0].Value))
		terms = terms[1:]
		if f.contains != "" {
			q.and("EXISTS (SELECT 1 FROM aas_documents c WHERE c.kind = ? AND c.id = d.id AND "+f.part("c")+")", kind, f.contains)
		}
	default:
		q.and("d.kind = ?", kind)
		if f.q.IDShort != "" {
			q.and("d.id_short = ?", f.q.IDShort)
		}
		if f.contains != "" {
			q.and(f.part("d"), f.contains)
		}
	}
	for _, t := range terms {
		q.and("EXISTS (SELECT 1 FROM aas_terms t WHERE t.kind = ? AND t.name = ? AND t.value = ? AND t.id = d.id)",
			kind, t.Name, keyOf(t.Value))
	}
	return q
}

// part returns the condition that a text is part of the idShort.
func (f *finder) part(table string) string {
	return fmt.Sprintf(f.tx.Features().Contains, table+".id_short_lower")
}

// broad is from how many documents on a link is not looked at from their side, and how many are counted.
const broad = 1000

// linked adds the condition over two kinds of document. Few documents at the other end are gone
// through; of many it is asked for each document whether it leads to one, which ends with the page. The
// OFFSETs keep PostgreSQL from joining everything first, and from going through the many for each
// document, as it would in a plan that it keeps for any arguments.
func (f *finder) linked(ctx context.Context, q *query) error {
	l := f.q.Linked
	if l == nil {
		return nil
	}
	n, err := f.few(ctx, l.Kind, l.Term)
	if err != nil {
		return err
	}
	if n < broad {
		q.and("d.id IN ("+fromLink+")", f.linkArgs()...)
		return nil
	}
	q.and(`EXISTS (SELECT 1 FROM aas_terms l WHERE l.kind = ? AND l.name = ? AND l.id = d.id AND EXISTS (
		SELECT 1 FROM aas_terms x WHERE x.kind = ? AND x.name = ? AND x.value = ? AND x.id = l.value LIMIT 1 OFFSET 0) LIMIT 1 OFFSET 0)`,
		int64(f.q.Kind), l.Name, int64(l.Kind), l.Term.Name, keyOf(l.Term.Value))
	return nil
}

// fromLink selects the documents that lead to one at the other end. The order of the tables is that of
// the joins with SQLite.
const fromLink = `SELECT l.id FROM aas_terms x CROSS JOIN aas_terms l
	WHERE x.kind = ? AND x.name = ? AND x.value = ? AND l.kind = ? AND l.name = ? AND l.value = x.id`

func (f *finder) linkArgs() []any {
	l := f.q.Linked
	return []any{int64(l.Kind), l.Term.Name, keyOf(l.Term.Value), int64(f.q.Kind), l.Name}
}

func (f *finder) keys(ctx context.Context) ([]string, error) {
	q, err := f.selecting(ctx)
	if err != nil {
		return nil, err
	}
	if f.q.After != "" {
		q.and("d.id > ?", f.after)
	}
	q.args = append(q.args, f.q.Limit+1, f.q.Offset)
	return f.readKeys(ctx, q.text("SELECT d.id FROM ", " ORDER BY d.id LIMIT ? OFFSET ?"), q.args)
}

// keysFromEnd returns the keys of a page of all documents, counted from the end, which is nearer.
func (f *finder) keysFromEnd(ctx context.Context, total int) ([]string, error) {
	end := min(f.q.Offset+f.q.Limit+1, total)
	keys, err := f.readKeys(ctx, "SELECT id FROM aas_documents WHERE kind = ? ORDER BY id DESC LIMIT ? OFFSET ?",
		[]any{int64(f.q.Kind), end - f.q.Offset, total - end})
	slices.Reverse(keys)
	return keys, err
}

func (f *finder) readKeys(ctx context.Context, text string, args []any) ([]string, error) {
	var keys []string
	err := f.tx.Each(ctx, text, args, func(row storage.Scanner) error {
		var key string
		err := row.Scan(&key)
		keys = append(keys, key)
		return err
	})
	return keys, err
}
