package storage

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
)

// group gives writes of several callers one transaction, since what a write waits for is the disk
// and not the statement. While one transaction commits, the next writes gather; each has a savepoint,
// so that one that fails leaves the others alone. One goroutine runs them.
type group struct {
	set   *set
	queue chan *groupWrite
	most  int
	ended chan struct{}

	mu     sync.RWMutex
	closed bool

	groups, writes atomic.Int64
}

type groupWrite struct {
	fn    func(context.Context, *Tx) error
	ctx   context.Context
	begun atomic.Bool // set by whoever comes first: the goroutine that runs it or the caller that gives up
	done  chan outcome
}

// outcome is what became of a write: an error, or the panic of its function, which belongs to the
// caller's goroutine.
type outcome struct {
	err      error
	panicked any
}

func newGroup(s *set, most, waiting int) *group {
	g := &group{set: s, queue: make(chan *groupWrite, waiting), most: most, ended: make(chan struct{})}
	go g.run()
	return g
}

// close refuses further writes and waits for those that were taken.
func (g *group) close() {
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
func (g *group) do(ctx context.Context, fn func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return errCanceled.Wrap(err)
	}
	w := &groupWrite{fn: fn, ctx: context.WithoutCancel(ctx), done: make(chan outcome, 1)}
	if err := g.put(ctx, w); err != nil {
		return err
	}
	var out outcome
	select {
	case out = <-w.done:
	case <-ctx.Done():
		if w.begun.CompareAndSwap(false, true) {
			return errCanceled.Wrap(ctx.Err())
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
		return errCanceled.Wrap(ctx.Err())
	}
}

func (g *group) run() {
	defer close(g.ended)
	batch := make([]*groupWrite, 0, g.most)
	for w := range g.queue {
		batch = append(batch[:0], w)
	gather:
		for len(batch) < g.most {
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

// commit runs a batch in one transaction. When the database gives the whole transaction up because
// of one write (SQLite does, for example on a full disk), the writes get a transaction each.
func (g *group) commit(batch []*groupWrite) {
	live := batch[:0]
	for _, w := range batch {
		if w.begun.CompareAndSwap(false, true) {
			live = append(live, w)
		}
	}
	if len(live) == 0 {
		return
	}
	g.groups.Add(1)
	g.writes.Add(int64(len(live)))
	if len(live) == 1 || !g.together(live) {
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
	return outcome{err: g.set.retry(w.ctx, func() error { return g.set.alone(w.ctx, g.set.pools.Write, w.fn) })}
}

// together runs writes in one transaction. It is false when they must be run again one by one;
// nobody has been told anything then.
func (g *group) together(live []*groupWrite) bool {
	ctx := context.Background()
	var sqlTx *sql.Tx
	err := g.set.retry(ctx, func() (err error) {
		sqlTx, err = g.set.pools.Write.BeginTx(ctx, &sql.TxOptions{Isolation: g.set.traits.Isolation})
		return explain(g.set.dialect, err)
	})
	if err != nil {
		tell(live, nil, err)
		return true
	}
	defer func() { _ = sqlTx.Rollback() }()
	tx := &Tx{tx: sqlTx, set: g.set, cache: g.set.writing}
	outs := make([]outcome, len(live))
	for i, w := range live {
		var alive bool
		if outs[i], alive = g.guarded(tx, w); !alive {
			return false
		}
	}
	if err := sqlTx.Commit(); err != nil {
		tell(live, outs, explain(g.set.dialect, err))
		return true
	}
	tell(live, outs, nil)
	return true
}

// guarded runs a write behind a savepoint. It is false when the transaction did not survive.
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

// tell gives each write its outcome; those without a failure of their own share the commit's.
func tell(live []*groupWrite, outs []outcome, commit error) {
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
