package storage

import (
	"context"
	"database/sql"
	"strings"
)

// Tx is a transaction. It is for the one function that it was given to, and for one goroutine.
// Queries have ? for each argument, on every database, and no question mark in a literal.
type Tx struct {
	tx    *sql.Tx
	set   *set
	cache *statements          // nil where the driver keeps statements
	local map[string]*sql.Stmt // statements of this transaction
}

// Scanner reads the columns of one row.
type Scanner interface {
	Scan(dest ...any) error
}

// Exec runs a statement and gives the number of rows that it changed. A broken uniqueness is
// ErrUnique; other errors are those of the package.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	var (
		res sql.Result
		err error
	)
	if stmt, perr := t.prepared(ctx, query); perr != nil { //nolint:sqlclosecheck // it ends with the transaction
		return 0, explain(t.set.dialect, perr)
	} else if stmt != nil {
		res, err = stmt.ExecContext(ctx, args...)
	} else {
		res, err = t.tx.ExecContext(ctx, t.set.rebind(query), args...)
	}
	if err != nil {
		return 0, explain(t.set.dialect, err)
	}
	n, err := res.RowsAffected()
	return n, explain(t.set.dialect, err)
}

// Row reads one row into dest. Without a row it gives sql.ErrNoRows.
func (t *Tx) Row(ctx context.Context, query string, args []any, dest ...any) error {
	found := false
	err := t.Each(ctx, query, args, func(row Scanner) error {
		if found {
			return nil
		}
		found = true
		return row.Scan(dest...)
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// Each calls read for each row. read must not use the transaction. Its error ends the call and is
// returned.
func (t *Tx) Each(ctx context.Context, query string, args []any, read func(Scanner) error) error {
	var (
		rows *sql.Rows
		err  error
	)
	if stmt, perr := t.prepared(ctx, query); perr != nil { //nolint:sqlclosecheck // it ends with the transaction
		return explain(t.set.dialect, perr)
	} else if stmt != nil {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = t.tx.QueryContext(ctx, t.set.rebind(query), args...)
	}
	if err != nil {
		return explain(t.set.dialect, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := read(rows); err != nil {
			return explain(t.set.dialect, err)
		}
	}
	return explain(t.set.dialect, rows.Err())
}

// maxRows bounds the rows of one multi-row statement; the parameters of a statement are limited.
const maxRows = 100

// Insert puts in many rows of the same columns. into is "INSERT INTO table (columns) VALUES", tail
// what follows the rows, such as an ON CONFLICT clause. No two rows may have the same key.
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any, tail string) error {
	most := 1
	if t.set.traits.MultiRow {
		most = maxRows
	}
	for len(rows) > 0 {
		n := min(most, len(rows))
		marks := "(?" + strings.Repeat(",?", len(rows[0])-1) + ")"
		query := into + " " + marks + strings.Repeat(","+marks, n-1) + " " + tail
		args := make([]any, 0, n*len(rows[0]))
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if _, err := t.Exec(ctx, query, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// prepared gives a prepared statement, or nil where the driver keeps them itself.
func (t *Tx) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if t.cache == nil {
		return nil, nil
	}
	if stmt := t.local[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.cache.in(ctx, t.tx, query)
	if err != nil {
		return nil, err
	}
	if t.local == nil {
		t.local = make(map[string]*sql.Stmt)
	}
	t.local[query] = stmt
	return stmt, nil
}
