package audit

import (
	"context"
	"iter"
)

// MaxPage is the largest page that List returns.
const MaxPage = 500

// List returns the records that match, newest first, and how many match in all if q.Count is set. What this process has
// recorded before is among them, unless the store fails. Limit defaults to 50. It returns [ErrInvalidQuery] naming each
// bad filter, [ErrPageSizeExceeded], or [ErrInvalidTimeRange].
func (l *Log) List(ctx context.Context, q Query) ([]Record, int64, error) {
	q, err := q.checked()
	if err != nil {
		return nil, 0, err
	}
	l.flush(ctx)
	q.LostBefore = l.opts.Now().Add(-l.opts.LostAfter)
	return l.store.Records(ctx, q)
}

// Get returns one record, or [ErrRecordNotFound].
func (l *Log) Get(ctx context.Context, id int64) (Record, error) {
	if id < 1 {
		return Record{}, ErrRecordNotFound
	}
	page, _, err := l.List(ctx, Query{ID: id, Limit: 1})
	switch {
	case err != nil:
		return Record{}, err
	case len(page) == 0:
		return Record{}, ErrRecordNotFound
	}
	return page[0], nil
}

// All yields the records that match, newest first, a page at a time. Limit, Offset and Count do not count. An error is
// the last that it yields.
func (l *Log) All(ctx context.Context, q Query) iter.Seq2[Record, error] {
	q.Limit, q.Offset, q.Count = MaxPage, 0, false
	return func(yield func(Record, error) bool) {
		for {
			page, _, err := l.List(ctx, q)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if len(page) < q.Limit {
				return
			}
			q.Before = page[len(page)-1].ID
		}
	}
}

// Head returns the position of the newest entry. See the package documentation for what it is good for.
func (l *Log) Head(ctx context.Context) (Link, error) {
	l.flush(ctx)
	_, head, err := l.store.Ends(ctx)
	return head, err
}
