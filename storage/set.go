package storage

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Pools are the connections to one database. Read and Write may be the same pool.
type Pools struct {
	Read, Write *sql.DB
	// Probe is pinged every two seconds, and every 250 ms while that fails; nil where there is no server. Calls that wait for a
	// server that does not answer end with ErrAway.
	Probe *sql.DB
	// Listen is for connections that wait for notifications; nil where there are none.
	Listen *sql.DB
}

// Set is one set of tables in one database: the owner of its transactions. Stores get theirs from [DB.SetOf]. Safe
// for concurrent use.
type Set struct {
	name     SetName
	schemas  []*schema
	opts     Options
	dialect  Dialect
	features Features
	pools    Pools
	observe  func(op string, d time.Duration, err error)
	presence *presence // nil where there is no server

	reading, writing *statements // nil where the driver keeps statements
	group            *group      // nil where each write has its own transaction
	queries          sync.Map    // query -> rebound query
	known            atomic.Int64
	closed           atomic.Bool
	work             chan struct{} // holds a token while exclusive work runs
	reserve          *keeper       // nil where nothing is reserved for this set
}

func newSet(name SetName, d Dialect, pools Pools, opts Options) *Set {
	s := &Set{name: name, opts: opts, dialect: d, features: d.Features(), pools: pools,
		observe: opts.OnQuery, work: make(chan struct{}, 1)}
	if s.observe == nil {
		s.observe = func(string, time.Duration, error) {}
	}
	if s.features.Prepare {
		s.reading, s.writing = newStatements(pools.Read), newStatements(pools.Write)
	}
	if s.features.Group {
		s.group = newGroup(s, opts.MaxGroup, opts.MaxPending)
	}
	return s
}

// close waits for the writes that were accepted, as long as ctx lasts, and closes the pools.
func (s *Set) close(ctx context.Context) error {
	s.closed.Store(true)
	if s.group != nil {
		s.group.close(ctx)
	}
	if s.features.Prepare {
		s.reading.close()
		s.writing.close()
	}
	err := s.pools.Read.Close()
	if s.pools.Write != s.pools.Read {
		err = errors.Join(err, s.pools.Write.Close())
	}
	if s.pools.Listen != nil {
		err = errors.Join(err, s.pools.Listen.Close())
	}
	return err
}

// rebind returns a query in the form of the database.
func (s *Set) rebind(query string) string {
	if !s.features.Numbered {
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

// Update runs fn in a transaction that writes and returns when it is durable. op names its purpose, as accounts.add. fn
// may be called more than once and must use the database through its Tx only; if it returns an error, nothing of it is
// kept and Update returns the error. fn's context does not end with the caller's where several callers share a
// transaction (SQLite): fn should be short. A transaction is serializable, so that reading and then writing is safe.
//
// Errors of the database are ErrFull, ErrBusy, ErrUnique, ErrClosed, ErrCorrupt, ErrAway, ErrDenied or ErrFailed.
func (s *Set) Update(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return s.update(ctx, op, ordinary, fn)
}

// UpdateVital is Update for small writes that a plant needs on a full disk too: sessions, alarms, acknowledgements and
// notifications. They may use all of the reserve, others half of it (see [Options.Reserve]).
func (s *Set) UpdateVital(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return s.update(ctx, op, vital, fn)
}

// Admit returns ErrFull while Update would, because the rest of the reserve is for vital writes.
func (s *Set) Admit() error { return s.reserve.admit(ordinary) }

func (s *Set) update(ctx context.Context, op string, c class, fn func(context.Context, *Tx) error) error {
	start := time.Now()
	ctx, done, err := s.presence.during(ctx)
	if err == nil {
		err = done(s.updateOnce(ctx, c, fn))
	}
	s.observe(op, time.Since(start), err)
	return err
}

func (s *Set) updateOnce(ctx context.Context, c class, fn func(context.Context, *Tx) error) error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.group != nil:
		return s.group.do(ctx, c, fn)
	}
	return s.retry(ctx, func() error { return s.alone(ctx, s.pools.Write, fn) })
}

// maxTries is how often a transaction that met another one is tried.
const maxTries = 12

// retry repeats a transaction that met another one, after a growing and jittered wait.
func (s *Set) retry(ctx context.Context, try func() error) error {
	wait := time.Millisecond
	for n := 1; ; n++ {
		err := try()
		if n == maxTries || !errors.Is(err, ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return ErrCanceled.Wrap(ctx.Err())
		case <-time.After(wait/2 + rand.N(wait)):
			wait = min(2*wait, 100*time.Millisecond)
		}
	}
}

// maxEnd is how long callers wait for a server that ends a transaction. The outcome of a commit is unknown then.
const maxEnd = 15 * time.Second

// alone runs fn in a transaction of its own. A context that ends counts until the commit: a caller that is canceled
// later would otherwise get an error for a change that the database keeps.
func (s *Set) alone(ctx context.Context, on Held, fn func(context.Context, *Tx) error) error {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	follows := context.AfterFunc(ctx, cancel)
	tx, err := s.begin(kept, on, &sql.TxOptions{Isolation: s.features.Isolation})
	if !follows() {
		if err == nil {
			_ = tx.Rollback()
		}
		return ErrCanceled.Wrap(ctx.Err())
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
		if errors.Is(err, ErrAway) && ctx.Err() != nil { // a driver may close the connection of a caller that is canceled
			return ErrCanceled.Wrap(errors.Join(ctx.Err(), err))
		}
		return err
	})
}

// begin begins a transaction, with the statement that the database wants first.
func (s *Set) begin(ctx context.Context, on Held, opts *sql.TxOptions) (*sql.Tx, error) {
	tx, err := on.BeginTx(ctx, opts)
	if err != nil || s.features.Begin == "" {
		return tx, err
	}
	if _, err := tx.ExecContext(ctx, s.features.Begin); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// finish runs fn and ends the transaction: with a commit when fn succeeds.
func (s *Set) finish(ctx context.Context, tx *sql.Tx, cache *statements, fn func(context.Context, *Tx) error) error {
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

// View runs fn in a transaction that only reads and that sees one state of the database. fn may be called more than
// once.
func (s *Set) View(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	start := time.Now()
	err := s.retry(ctx, func() error { return s.viewOnce(ctx, fn) })
	s.observe(op, time.Since(start), err)
	return err
}

// viewOnce is view for a function that cannot be called twice.
func (s *Set) viewOnce(ctx context.Context, fn func(context.Context, *Tx) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	ctx, done, err := s.presence.during(ctx)
	if err != nil {
		return err
	}
	return done(s.viewPresent(ctx, fn))
}

func (s *Set) viewPresent(ctx context.Context, fn func(context.Context, *Tx) error) error {
	opts := s.features.ViewOptions
	tx, err := s.begin(ctx, s.pools.Read, &opts)
	if err != nil {
		return explain(s.dialect, err)
	}
	return s.finish(ctx, tx, s.reading, fn)
}

// Updater runs a transaction within exclusive work, as [Set.Update] does.
type Updater func(ctx context.Context, op string, fn func(context.Context, *Tx) error) error

// Exclusive runs named work of several transactions that must not run concurrently, in this process or another one.
func (s *Set) Exclusive(ctx context.Context, name string, work func(Updater) error) error {
	select {
	case s.work <- struct{}{}:
	case <-ctx.Done():
		return ErrCanceled.Wrap(ctx.Err())
	}
	defer func() { <-s.work }()
	if err := s.presence.err(); err != nil {
		return err
	}
	held, release, err := s.dialect.AdvisoryLock(ctx, s.pools.Write, name)
	if err != nil {
		return explain(s.dialect, err)
	}
	update := Updater(s.Update)
	if held != nil { // such work takes its time
		update = func(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
			start := time.Now()
			ctx, done, err := s.presence.during(ctx)
			if err == nil {
				err = done(s.retry(ctx, func() error {
					return s.alone(ctx, held, func(ctx context.Context, tx *Tx) error {
						if err := tx.patient(ctx); err != nil {
							return err
						}
						return fn(ctx, tx)
					})
				}))
			}
			s.observe(op, time.Since(start), err)
			return err
		}
	}
	return errors.Join(work(update), explain(s.dialect, release()))
}

// stage runs one transaction that nothing else in the set runs beside.
func (s *Set) stage(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return s.Exclusive(ctx, op, func(update Updater) error { return update(ctx, op, fn) })
}

// upgrade runs [Schema.Upgrade] of each schema.
func (s *Set) upgrade(ctx context.Context) error {
	for _, schema := range s.schemas {
		if schema.Upgrade == nil {
			continue
		}
		err := s.Exclusive(ctx, schema.Name, func(update Updater) error { return schema.Upgrade(ctx, s, update) })
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteLimit is the most rows that one transaction should delete, so that other writers do not wait for long.
const DeleteLimit = 5000

// Delete runs fn in one transaction after another, until it deletes fewer rows than limit. It may use all of the reserve,
// since it makes space.
func (s *Set) Delete(ctx context.Context, op string, fn func(ctx context.Context, tx *Tx, limit int) (int64, error)) error {
	for {
		var n int64
		err := s.UpdateVital(ctx, op, func(ctx context.Context, tx *Tx) (err error) {
			n, err = fn(ctx, tx, DeleteLimit)
			return err
		})
		if err != nil || n < DeleteLimit {
			return err
		}
	}
}

// ReclaimSpace returns the space of deleted rows to the disk, as far as that is cheap.
func (s *Set) ReclaimSpace(ctx context.Context) error {
	return explain(s.dialect, s.dialect.ReclaimSpace(ctx, s.pools.Write))
}

// Features returns how the database is used best.
func (s *Set) Features() Features { return s.features }

// Logger returns the logger of the database.
func (s *Set) Logger() *slog.Logger { return s.opts.Logger }

// Now returns the time by the clock of the database.
func (s *Set) Now() time.Time { return s.opts.Now() }
