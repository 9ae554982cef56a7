package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// group runs the writes of several callers in one transaction, since a write waits for the disk and not for its
// statements. While one transaction commits, the next writes gather. Each has a savepoint, so that one that fails does
// not affect the others. One goroutine runs them.
type group struct {
	set   *Set
	queue chan *groupWrite
	max   int
	ended chan struct{}

	mu        sync.RWMutex
	closed    bool
	abandoned atomic.Bool // queued writes are not begun any more

	groups, writes atomic.Int64
}

type groupWrite struct {
	class class
	fn    func(context.Context, *Tx) error
	ctx   context.Context
	begun atomic.Bool // set by the first of two: the goroutine that runs it, or the caller that is canceled
	done  chan outcome
}

// outcome is the result of a write: an error, or the panic of its function, which is raised again in the caller's
// goroutine.
type outcome struct {
	err      error
	panicked any
}

func newGroup(s *Set, maxWrites, pending int) *group {
	g := &group{set: s, queue: make(chan *groupWrite, pending), max: maxWrites, ended: make(chan struct{})}
	go g.run()
	return g
}

// close refuses further writes and waits for those that were accepted. When ctx ends, those that have not begun fail.
func (g *group) close(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { g.abandoned.Store(true) })()
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.queue)
	}
	g.mu.Unlock()
	<-g.ended
}

// do returns when the write's group is committed or the write has failed. A context that ends counts
// until the write begins; after that its outcome is awaited.
func (g *group) do(ctx context.Context, c class, fn func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return ErrCanceled.Wrap(err)
	}
	w := &groupWrite{class: c, fn: fn, ctx: context.WithoutCancel(ctx), done: make(chan outcome, 1)}
	if err := g.put(ctx, w); err != nil {
		return err
	}
	var out outcome
	select {
	case out = <-w.done:
	case <-ctx.Done():
		if w.begun.CompareAndSwap(false, true) {
			return ErrCanceled.Wrap(ctx.Err())
		}
		out = <-w.done
	}
	if out.panicked != nil {
		panic(out.panicked)
	}
	return out.err
}

func (g *group) put(ctx context.Context, w *groupWrite) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return ErrClosed
	}
	select {
	case g.queue <- w:
		return nil
	case <-ctx.Done():
		return ErrCanceled.Wrap(ctx.Err())
	}
}

func (g *group) run() {
	defer close(g.ended)
	batch := make([]*groupWrite, 0, g.max)
	for w := range g.queue {
		batch = append(batch[:0], w)
	gather:
		for len(batch) < g.max {
			select {
			case w, open := <-g.queue:
				if !open {
					break gather
				}
				batch = append(batch, w)
			default:
				break gather
			}
		}
		g.commit(batch)
		clear(batch)
	}
}

// commit runs a batch in one transaction. If the database aborts the whole transaction because of one write, or the disk
// is full, each write gets a transaction of its own.
func (g *group) commit(batch []*groupWrite) {
	live := batch[:0]
	for _, w := range batch {
		switch {
		case !w.begun.CompareAndSwap(false, true):
		case g.abandoned.Load():
			w.done <- outcome{err: ErrClosed}
		default:
			live = append(live, w)
		}
	}
	if len(live) == 0 {
		return
	}
	g.groups.Add(1)
	g.writes.Add(int64(len(live)))
	if len(live) == 1 || g.set.reserve.scarce() || !g.together(live) {
		for _, w := range live {
			w.done <- g.single(w)
		}
	}
	if cache := g.set.writing; cache != nil {
		cache.learn(context.Background())
	}
}

// single runs one write in a transaction of its own.
func (g *group) single(w *groupWrite) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = outcome{panicked: p}
		}
	}()
	try := func() error { return g.set.alone(w.ctx, g.set.pools.Write, w.fn) }
	for again := true; again; {
		if err := g.set.reserve.admit(w.class); err != nil {
			return outcome{err: err}
		}
		start := time.Now()
		out.err = g.set.retry(w.ctx, try)
		again = errors.Is(out.err, ErrFull) && g.set.reserve.release(w.class, start)
	}
	return out
}

// together runs writes in one transaction. It returns false, before any caller has its outcome, if they must be run
// again one by one.
func (g *group) together(live []*groupWrite) bool {
	ctx := context.Background()
	var sqlTx *sql.Tx
	err := g.set.retry(ctx, func() (err error) {
		sqlTx, err = g.set.pools.Write.BeginTx(ctx, &sql.TxOptions{Isolation: g.set.features.Isolation})
		return explain(g.set.dialect, err)
	})
	if err != nil {
		complete(live, nil, err)
		return true
	}
	defer func() { _ = sqlTx.Rollback() }()
	tx := &Tx{tx: sqlTx, set: g.set, cache: g.set.writing}
	outs := make([]outcome, len(live))
	for i, w := range live {
		var alive bool
		if outs[i], alive = g.guarded(tx, w); !alive || errors.Is(outs[i].err, ErrFull) {
			return false
		}
	}
	err = explain(g.set.dialect, sqlTx.Commit())
	if errors.Is(err, ErrFull) {
		return false
	}
	complete(live, outs, err)
	return true
}

// guarded runs a write behind a savepoint. alive reports whether the transaction survived.
func (g *group) guarded(tx *Tx, w *groupWrite) (out outcome, alive bool) {
	if _, err := tx.Exec(w.ctx, "SAVEPOINT one"); err != nil {
		return outcome{}, false
	}
	out = run(w, tx)
	if out.err != nil || out.panicked != nil {
		if _, err := tx.Exec(w.ctx, "ROLLBACK TO SAVEPOINT one"); err != nil {
			return outcome{}, false
		}
	}
	_, err := tx.Exec(w.ctx, "RELEASE SAVEPOINT one")
	return out, err == nil
}

func run(w *groupWrite, tx *Tx) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = outcome{panicked: p}
		}
	}()
	return outcome{err: w.fn(w.ctx, tx)}
}

// complete sends each write its outcome; those that did not fail by themselves share that of the commit.
func complete(live []*groupWrite, outs []outcome, commit error) {
	for i, w := range live {
		out := outcome{err: commit}
		if outs != nil && (outs[i].err != nil || outs[i].panicked != nil) {
			out = outs[i]
		} else if commit != nil {
			out.err = fmt.Errorf("commit of a group of %d writes: %w", len(live), commit)
		}
		w.done <- out
	}
}
