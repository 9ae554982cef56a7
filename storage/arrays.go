package storage

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Many values in one parameter: what a database does for each parameter, and for each statement of
// another length, takes longer than what it does with the value.

const (
	minArray  = 8    // fewer rows are as fast with a parameter for each value
	maxArray  = 1000 // rows of one statement
	shortList = 8    // keys up to which a list has a parameter for each
)

// arrays gives the statement that puts in rows with an array for each column, and its arguments. It is
// false where a column's type cannot be told from the values.
func arrays(into string, rows [][]any, tail string) (query string, args []any, ok bool) {
	head, ok := strings.CutSuffix(into, "VALUES")
	if !ok {
		return "", nil, false
	}
	args = make([]any, len(rows[0]))
	marks := make([]string, len(args))
	for i := range args {
		if args[i], marks[i], ok = array(rows, i); !ok {
			return "", nil, false
		}
	}
	return head + "SELECT * FROM unnest(" + strings.Join(marks, ",") + ") " + tail, args, true
}

// array gives one column of rows and the mark for it.
func array(rows [][]any, i int) (column any, mark string, ok bool) {
	switch rows[0][i].(type) {
	case string:
		column, ok = values[string](rows, i)
		return column, "?::text[]", ok
	case int64:
		column, ok = values[int64](rows, i)
		return column, "?::bigint[]", ok
	case bool:
		column, ok = values[bool](rows, i)
		return column, "?::boolean[]", ok
	case Stamp:
		stamps, ok := values[Stamp](rows, i)
		out := make([]*int64, len(stamps))
		for n, s := range stamps {
			out[n] = micros(time.Time(s))
		}
		return out, "?::bigint[]", ok
	case sql.NullInt64:
		numbers, ok := values[sql.NullInt64](rows, i)
		out := make([]*int64, len(numbers))
		for n := range numbers {
			if numbers[n].Valid {
				out[n] = &numbers[n].Int64
			}
		}
		return out, "?::bigint[]", ok
	}
	return nil, "", false
}

// values gives one column of rows; it is false when not all are of the type.
func values[T any](rows [][]any, i int) ([]T, bool) {
	out := make([]T, len(rows))
	for n, row := range rows {
		v, ok := row[i].(T)
		if !ok {
			return nil, false
		}
		out[n] = v
	}
	return out, true
}

// longList gives the condition that a column is one of many keys, and its one argument.
func longList(keys []any, arrays bool) (list string, arg any, err error) {
	if !arrays {
		text, err := json.Marshal(keys)
		return "IN (SELECT value FROM json_each(?))", string(text), err
	}
	rows := make([][]any, len(keys))
	for i := range keys {
		rows[i] = keys[i : i+1]
	}
	arg, mark, ok := array(rows, 0)
	if !ok {
		return "", nil, fmt.Errorf("a list of keys has a %T", keys[0])
	}
	return "= ANY(" + mark + ")", arg, nil
}
