package storage

import (
	"context"
	"database/sql"
	"iter"
	"slices"
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
	for part := range slices.Chunk(rows, maxArray) {
		query, args, ok := "", []any(nil), false
		if t.set.traits.Arrays && len(part) >= minArray {
			query, args, ok = arrays(into, part, tail)
		}
		if !ok {
			if err := t.insertValues(ctx, into, part, tail); err != nil {
				return err
			}
			continue
		}
		if _, err := t.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// insertValues is Insert with a parameter for each value.
func (t *Tx) insertValues(ctx context.Context, into string, rows [][]any, tail string) error {
	most := 1
	if t.set.traits.MultiRow {
		most = maxRows
	}
	query, size := "", 0
	for part := range slices.Chunk(rows, most) {
		if len(part) != size {
			size = len(part)
			marks := "(?" + strings.Repeat(",?", len(part[0])-1) + ")"
			query = into + " " + marks + strings.Repeat(","+marks, size-1) + " " + tail
		}
		args := part[0]
		if size > 1 {
			args = slices.Concat(part...)
		}
		if _, err := t.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// lock keeps every other transaction that takes the same lock waiting until this one has ended. It
// must come first in a transaction: what the transaction sees begins after it, so that it does not
// fail for what the one before has changed.
func (t *Tx) lock(ctx context.Context, table string) error {
	if t.set.traits.Group {
		return nil // one writer at a time anyway
	}
	_, err := t.Exec(ctx, "LOCK TABLE "+table+" IN EXCLUSIVE MODE")
	return err
}

// listSizes are the lengths that the lists of queries are filled up to, so that few statements differ.
var listSizes = [...]int{1, 8, 64, 512}

// lists gives keys in parts, each with the marks for it: "(?,?,?)". The last key may be repeated.
func lists(keys []any) iter.Seq2[string, []any] {
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

// eachIn is Each for a query with a list of keys, all texts or all numbers, between head, which ends with
// "IN ", and tail.
func (t *Tx) eachIn(ctx context.Context, head string, keys []any, tail string, read func(Scanner) error) error {
	if len(keys) > shortList {
		list, arg, err := longList(keys, t.set.traits.Arrays)
		if err != nil {
			return err
		}
		return t.Each(ctx, strings.TrimSuffix(head, "IN ")+list+tail, []any{arg}, read)
	}
	for marks, part := range lists(keys) {
		if err := t.Each(ctx, head+marks+tail, part, read); err != nil {
			return err
		}
	}
	return nil
}

// change changes many rows, each by a row of texts and nulls, which set and where name v.column1,
// v.column2 and so on. set is "UPDATE table SET ...", where "WHERE ...".
func (t *Tx) change(ctx context.Context, set string, rows [][]any, where string) error {
	return t.insertValues(ctx, set+" FROM (VALUES", rows, ") AS v "+where)
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
