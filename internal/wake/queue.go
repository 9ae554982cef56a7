package wake

import (
	"context"
	"sync"
)

// Queue is a bounded queue between senders that never wait and one reader. Make it with [NewQueue]. Any goroutine may call its
// methods; one at a time may call Next.
type Queue[T any] struct {
	limit  int
	signal Signal

	mu    sync.Mutex
	items []T
	err   error // why it ended
}

// NewQueue returns an empty queue that holds at most limit items.
func NewQueue[T any](limit int) *Queue[T] {
	return &Queue[T]{limit: limit, signal: NewSignal()}
}

// Add appends all items and reports whether it did. It appends none of them when they do not fit or the queue has ended.
func (q *Queue[T]) Add(items ...T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil || len(items) > q.limit-len(q.items) {
		return false
	}
	if len(items) > 0 {
		q.items = append(q.items, items...)
		q.signal.Set()
	}
	return true
}

// End discards what is queued and lets every Next return err, which must not be nil. Only the first End counts.
func (q *Queue[T]) End(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err, q.items = err, nil
	}
	q.signal.Set()
}

// Next waits for items and removes and returns at most limit of them, oldest first; all that are queued when limit is not positive.
// It returns the cause of ctx when ctx ends first, and the error given to End after End.
func (q *Queue[T]) Next(ctx context.Context, limit int) ([]T, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if items, err := q.take(limit); err != nil || len(items) > 0 {
			return items, err
		}
		select {
		case <-q.signal.C():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *Queue[T]) take(limit int) ([]T, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return nil, q.err
	}
	if limit <= 0 || limit >= len(q.items) {
		items := q.items
		q.items = nil
		return items, nil
	}
	items := append([]T(nil), q.items[:limit]...)
	clear(q.items[:limit])
	q.items = q.items[limit:]
	return items, nil
}
