package storage

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Tx is a transaction. It is for the one function that it was given to, and for one goroutine.
// Queries have ? for each argument, on every database, and no question mark in a literal.
type Tx struct {
	tx    *sql.Tx
	set   *Set
	cache *statements          // nil where the driver keeps statements
	local map[string]*sql.Stmt // statements of this transaction
}

// Scanner reads the columns of one row.
type Scanner interface {
	Scan(dest ...any) error
}

// Exec runs a statement and returns the number of rows that it changed. If a row with the same key exists, Exec
// returns ErrUnique; other errors are those of the package.
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

// Row reads one row into dest. If there is no row, Row returns sql.ErrNoRows.
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

// MaxRows is the most rows that a statement should have parameters for, since the parameters of a statement are
// limited.
const MaxRows = 100

// Insert inserts many rows of the same columns. into is "INSERT INTO table (columns) VALUES", tail what follows the
// rows, such as an ON CONFLICT clause. No two rows may have the same key, see [Distinct].
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any, tail string) error {
	return t.InsertReturning(ctx, into, rows, tail, nil)
}

// InsertReturning is Insert that calls read, unless it is nil, for each row that a RETURNING clause of tail returns.
func (t *Tx) InsertReturning(ctx context.Context, into string, rows [][]any, tail string, read func(Scanner) error) error {
	for part := range slices.Chunk(rows, maxArray) {
		query, args, ok := "", []any(nil), false
		if t.set.features.Arrays && len(part) >= minArray {
			query, args, ok = arrays(into, part, tail)
		}
		if !ok {
			if err := t.insertValues(ctx, into, part, tail, read); err != nil {
				return err
			}
			continue
		}
		if err := t.run(ctx, query, args, read); err != nil {
			return err
		}
	}
	return nil
}

// run runs a statement, and calls read, unless it is nil, for each row that it returns.
func (t *Tx) run(ctx context.Context, query string, args []any, read func(Scanner) error) error {
	if read != nil {
		return t.Each(ctx, query, args, read)
	}
	_, err := t.Exec(ctx, query, args...)
	return err
}

// insertValues is InsertReturning with a parameter for each value.
func (t *Tx) insertValues(ctx context.Context, into string, rows [][]any, tail string, read func(Scanner) error) error {
	size := 1
	if t.set.features.MultiRow {
		size = MaxRows
	}
	query, rowsOf := "", 0
	for part := range slices.Chunk(rows, size) {
		if len(part) != rowsOf {
			rowsOf = len(part)
			marks := "(?" + strings.Repeat(",?", len(part[0])-1) + ")"
			query = into + " " + marks + strings.Repeat(","+marks, rowsOf-1) + " " + tail
		}
		args := part[0]
		if rowsOf > 1 {
			args = slices.Concat(part...)
		}
		if err := t.run(ctx, query, args, read); err != nil {
			return err
		}
	}
	return nil
}

// Lock blocks until no other transaction holds the lock of the table, and holds it until the transaction ends. It must
// come first in a transaction: what the transaction sees begins after it, so that it does not fail because of what
// the one before has changed.
func (t *Tx) Lock(ctx context.Context, table string) error {
	if t.set.features.LockTable == "" {
		return nil // one writer at a time anyway
	}
	_, err := t.Exec(ctx, fmt.Sprintf(t.set.features.LockTable, table))
	return err
}

// NoSync lets the transaction become durable with the next one that must be, which costs less.
func (t *Tx) NoSync(ctx context.Context) error {
	if t.set.features.NoSync == "" {
		return nil // it shares a transaction anyway
	}
	_, err := t.Exec(ctx, t.set.features.NoSync)
	return err
}

// patient lets the transaction pause between its statements, as it does while what it writes comes from a file. Others are ended by the database
// when they pause for some seconds: an engine that hangs must not keep locks that the others wait for.
func (t *Tx) patient(ctx context.Context) error {
	if t.set.features.Patient == "" {
		return nil
	}
	_, err := t.Exec(ctx, t.set.features.Patient)
	return err
}

// Features returns how the database is used best.
func (t *Tx) Features() Features { return t.set.features }

// listSizes are the lengths that the lists of queries are filled up to, so that few statements differ.
var listSizes = [...]int{1, 8, 64, 512}

// InLists returns keys in parts, each with its placeholders: "(?,?,?)". The last key may be repeated.
func InLists(keys []any) iter.Seq2[string, []any] {
	return func(yield func(string, []any) bool) {
		for len(keys) > 0 {
			size := listSizes[len(listSizes)-1]
			for _, s := range listSizes {
				if len(keys) <= s {
					size = s
					break
				}
			}
			part := make([]any, size)
			for i := copy(part, keys); i < size; i++ {
				part[i] = part[i-1]
			}
			keys = keys[min(size, len(keys)):]
			if !yield("(?"+strings.Repeat(",?", size-1)+")", part) {
				return
			}
		}
	}
}

// EachIn is Each for a query with a list of keys, all texts or all numbers, between head, which ends with "IN ", and
// tail.
func (t *Tx) EachIn(ctx context.Context, head string, keys []any, tail string, read func(Scanner) error) error {
	if len(keys) > shortList {
		list, arg, err := longList(keys, t.set.features.Arrays)
		if err != nil {
			return err
		}
		return t.Each(ctx, strings.TrimSuffix(head, "IN ")+list+tail, []any{arg}, read)
	}
	for marks, part := range InLists(keys) {
		if err := t.Each(ctx, head+marks+tail, part, read); err != nil {
			return err
		}
	}
	return nil
}

// List returns the condition that a column, which stands before it, is one of keys, all texts or all numbers, and its only
// argument. It is for lists that may be long.
func (t *Tx) List(keys []any) (condition string, arg any, err error) {
	return longList(keys, t.set.features.Arrays)
}

// UpdateRows updates many rows, each from a row of texts and nulls, which set and where name v.column1, v.column2 and
// so on. set is "UPDATE table SET ...", where "WHERE ...".
func (t *Tx) UpdateRows(ctx context.Context, set string, rows [][]any, where string) error {
	return t.insertValues(ctx, set+" FROM (VALUES", rows, ") AS v "+where, nil)
}

// prepared returns a prepared statement, or nil where the driver keeps them itself.
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
