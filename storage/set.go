package storage

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Pools are the connections to one database. Read and Write may be the same pool.
type Pools struct {
	Read, Write *sql.DB
}

// set is one set of tables in one database: the owner of its transactions.
type set struct {
	name    string
	dialect Dialect
	traits  Traits
	pools   Pools
	observe func(op string, d time.Duration, err error)

	reading, writing *statements // nil where the driver keeps statements
	group            *group      // nil where each write has its own transaction
	queries          sync.Map    // query -> rebound query
	known            atomic.Int64
	closed           atomic.Bool
	work             chan struct{} // holds a token while exclusive work runs
}

func newSet(name string, d Dialect, pools Pools, opts Options) *set {
	s := &set{name: name, dialect: d, traits: d.Traits(), pools: pools,
		observe: opts.OnQuery, work: make(chan struct{}, 1)}
	if s.observe == nil {
		s.observe = func(string, time.Duration, error) {}
	}
	if s.traits.Prepare {
		s.reading, s.writing = newStatements(pools.Read), newStatements(pools.Write)
	}
	if s.traits.Group {
		s.group = newGroup(s, opts.MaxGroup, opts.MaxWaiting)
	}
	return s
}

// close waits for the writes that were taken and closes the pools.
func (s *set) close() error {
	s.closed.Store(true)
	if s.group != nil {
		s.group.close()
	}
	if s.traits.Prepare {
		s.reading.close()
		s.writing.close()
	}
	err := s.pools.Read.Close()
	if s.pools.Write != s.pools.Read {
		err = errors.Join(err, s.pools.Write.Close())
	}
	return err
}

// rebind gives a query in the form of the database.
func (s *set) rebind(query string) string {
	if !s.traits.Numbered {
		return query
	}
	if found, ok := s.queries.Load(query); ok {
		return found.(string)
	}
	bound := rebind(query)
	if s.known.Add(1) < maxStatements {
		s.queries.Store(query, bound)
	}
	return bound
}

func (s *set) update(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	start := time.Now()
	var err error
	switch {
	case s.closed.Load():
		err = ErrClosed
	case s.group != nil:
		err = s.group.do(ctx, fn)
	default:
		err = s.retry(ctx, func() error { return s.alone(ctx, s.pools.Write, fn) })
	}
	s.observe(op, time.Since(start), err)
	return err
}

// maxTries is how often a transaction that met another one is tried.
const maxTries = 12

// retry repeats a transaction that met another one, after a growing and jittered wait.
func (s *set) retry(ctx context.Context, try func() error) error {
	wait := time.Millisecond
	for n := 1; ; n++ {
		err := try()
		if n == maxTries || !errors.Is(err, ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return errCanceled.Wrap(ctx.Err())
		case <-time.After(wait/2 + rand.N(wait)):
			wait = min(2*wait, 100*time.Millisecond)
		}
	}
}

// beginner is a pool or one connection of it.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// maxEnd is how long a server may take to end a transaction before nobody waits for it any more. What
// became of a commit is not known then.
const maxEnd = 15 * time.Second

// alone runs fn in a transaction of its own. A context that ends counts until the commit: whoever gives
// up then would else be told of a failure while the database keeps the change.
func (s *set) alone(ctx context.Context, on beginner, fn func(context.Context, *Tx) error) error {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	follows := context.AfterFunc(ctx, cancel)
	tx, err := on.BeginTx(kept, &sql.TxOptions{Isolation: s.traits.Isolation})
	if !follows() {
		if err == nil {
			_ = tx.Rollback()
		}
		return errCanceled.Wrap(ctx.Err())
	}
	if err != nil {
		return explain(s.dialect, err)
	}
	limit := time.AfterFunc(math.MaxInt64, cancel)
	defer limit.Stop()
	defer func() { follows() }()
	return s.finish(ctx, tx, s.writing, func(ctx context.Context, tx *Tx) error {
		defer limit.Reset(maxEnd)
		err := fn(ctx, tx)
		if err != nil { // a rollback need not be waited for
			follows = context.AfterFunc(ctx, cancel)
		}
		return err
	})
}

// finish runs fn and ends the transaction: with a commit when fn succeeds.
func (s *set) finish(ctx context.Context, tx *sql.Tx, cache *statements, fn func(context.Context, *Tx) error) error {
	defer func() { _ = tx.Rollback() }() // also when fn panics; after a commit it does nothing
	if err := fn(ctx, &Tx{tx: tx, set: s, cache: cache}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return explain(s.dialect, err)
	}
	if cache != nil {
		cache.learn(ctx)
	}
	return nil
}

// view runs fn in a transaction that reads one state of the database.
func (s *set) view(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	start := time.Now()
	err := s.retry(ctx, func() error { return s.viewOnce(ctx, fn) })
	s.observe(op, time.Since(start), err)
	return err
}

// viewOnce is view for a function that cannot be called twice.
func (s *set) viewOnce(ctx context.Context, fn func(context.Context, *Tx) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	opts := s.traits.ViewOptions
	tx, err := s.pools.Read.BeginTx(ctx, &opts)
	if err != nil {
		return explain(s.dialect, err)
	}
	return s.finish(ctx, tx, s.reading, fn)
}

// updater runs a transaction within exclusive work.
type updater func(ctx context.Context, op string, fn func(context.Context, *Tx) error) error

// exclusive runs named work of several transactions that nobody else may do at the same time, in
// this process or another one.
func (s *set) exclusive(ctx context.Context, name string, work func(updater) error) error {
	select {
	case s.work <- struct{}{}:
	case <-ctx.Done():
		return errCanceled.Wrap(ctx.Err())
	}
	defer func() { <-s.work }()
	conn, release, err := s.dialect.Hold(ctx, s.pools.Write, name)
	if err != nil {
		return explain(s.dialect, err)
	}
	update := s.update
	if conn != nil {
		update = func(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
			start := time.Now()
			err := s.retry(ctx, func() error { return s.alone(ctx, conn, fn) })
			s.observe(op, time.Since(start), err)
			return err
		}
	}
	return errors.Join(work(update), explain(s.dialect, release()))
}
