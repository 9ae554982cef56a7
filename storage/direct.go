package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"
)

// Direct runs single statements that write without a transaction around them. With a server that saves the round trips of its
// begin and its end, most of what a small request costs.
type Direct struct{ set *Set }

// Direct returns a Direct over the set. ok is false where writers share a transaction and there is nothing to save, and where a
// statement needs [Features].Begin before it.
func (s *Set) Direct() (d Direct, ok bool) {
	return Direct{s}, !s.features.Group && s.features.Begin == ""
}

// run runs a statement, and repeats it if it met another transaction.
func (d Direct) run(ctx context.Context, op string, statement func() error) error {
	start := time.Now()
	err := d.set.retry(ctx, func() error {
		if d.set.closed.Load() {
			return ErrClosed
		}
		return explain(d.set.dialect, statement())
	})
	d.set.observe(op, time.Since(start), err)
	return err
}

// Row reads one row, without a transaction around the statement where none is needed. If there is none, Row returns sql.ErrNoRows.
func (s *Set) Row(ctx context.Context, op, query string, args []any, read func(Scanner) error) error {
	if s.features.Begin != "" {
		return s.View(ctx, op, func(ctx context.Context, tx *Tx) error {
			err := sql.ErrNoRows
			if failed := tx.Each(ctx, query, args, func(row Scanner) error { err = read(row); return err }); failed != nil {
				return failed
			}
			return err
		})
	}
	return Direct{s}.run(ctx, op, func() error {
		if s.reading != nil {
			return read(s.reading.row(ctx, query, args))
		}
		return read(s.pools.Read.QueryRowContext(ctx, s.rebind(query), args...))
	})
}

// Each is Row for many rows. It may begin again after some of them.
func (s *Set) Each(ctx context.Context, op, query string, args []any, read func(Scanner) error) error {
	if s.features.Begin != "" || s.reading != nil {
		return s.View(ctx, op, func(ctx context.Context, tx *Tx) error { return tx.Each(ctx, query, args, read) })
	}
	return Direct{s}.run(ctx, op, func() error {
		rows, err := s.pools.Read.QueryContext(ctx, s.rebind(query), args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if err := read(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// TryRow is [Direct.WriteRow] for a statement that need not be carried out: it ends with ctx, even if the statement has begun. It also works where there is no
// Direct, in a transaction.
func (s *Set) TryRow(ctx context.Context, op, query string, args []any, dest ...any) error {
	if d, ok := s.Direct(); ok {
		return d.run(ctx, op, func() error { return s.pools.Write.QueryRowContext(ctx, s.rebind(query), args...).Scan(dest...) })
	}
	return s.Update(ctx, op, func(ctx context.Context, tx *Tx) error { return tx.Row(ctx, query, args, dest...) })
}

// Exec runs a statement that writes, and returns the number of rows that it changed. A context that ends counts until
// the statement begins, as in [Set.Update].
func (d Direct) Exec(ctx context.Context, op, query string, args []any) (n int64, err error) {
	err = d.write(ctx, op, func(ctx context.Context, conn *sql.Conn) error {
		r, err := conn.ExecContext(ctx, d.set.rebind(query), args...)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return err
	})
	return n, err
}

// WriteRow is Exec for a statement that returns one row.
func (d Direct) WriteRow(ctx context.Context, op, query string, args []any, dest ...any) error {
	return d.write(ctx, op, func(ctx context.Context, conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, d.set.rebind(query), args...).Scan(dest...)
	})
}

// maxStale is how many connections of the pool may turn out to be closed by the server.
const maxStale = 3

func (d Direct) write(ctx context.Context, op string, statement func(context.Context, *sql.Conn) error) error {
	return d.run(ctx, op, func() (err error) {
		for range maxStale {
			err = d.onConn(ctx, statement)
			if !errors.Is(err, driver.ErrBadConn) { // which means that nothing was sent
				break
			}
		}
		return err
	})
}

func (d Direct) onConn(ctx context.Context, statement func(context.Context, *sql.Conn) error) error {
	conn, err := d.set.pools.Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxEnd)
	defer cancel()
	return statement(kept, conn)
}
