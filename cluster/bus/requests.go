package bus

import (
	"context"
	"sync"
)

// Requests are the requests of an engine that wait for answers, for those who implement [Bus]. The zero Requests is ready for use; it must not be
// copied. Safe for concurrent use.
type Requests struct {
	mu     sync.Mutex
	closed bool
	last   uint64
	open   map[uint64]chan<- result
}

type result struct {
	answer []byte
	err    error
}

// Do sends a request and waits until [Requests.End] is called with its id, which is not 0, ctx ends, or Close is called. The errors are that of send, that given to End,
// [ErrNoAnswer] and [ErrClosed].
func (r *Requests) Do(ctx context.Context, subject string, send func(id uint64) error) ([]byte, error) {
	results := make(chan result, 1)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	if r.open == nil {
		r.open = map[uint64]chan<- result{}
	}
	r.last++
	id := r.last
	r.open[id] = results
	r.mu.Unlock()
	defer r.End(id, nil, nil)
	if err := send(id); err != nil {
		return nil, err
	}
	select {
	case end := <-results:
		return end.answer, end.err
	case <-ctx.Done():
		return nil, ErrNoAnswer.On("subject", subject).Wrap(context.Cause(ctx))
	}
}

// Waiting reports whether a request has not ended. One that has need not be sent any more.
func (r *Requests) Waiting(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.open[id]
	return ok
}

// End ends a request with an answer, which it keeps, or an error. It does nothing if the request has ended.
func (r *Requests) End(id uint64, answer []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if results, ok := r.open[id]; ok {
		delete(r.open, id)
		results <- result{answer, err}
	}
}

// Close ends all requests with [ErrClosed], now and later ones.
func (r *Requests) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for id, results := range r.open {
		delete(r.open, id)
		results <- result{err: ErrClosed}
	}
}
