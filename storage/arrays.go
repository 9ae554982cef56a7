package storage

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Many values go into one parameter: a database spends more time on each parameter, and on each statement of another
// length, than on the value.

const (
	maxArrayBytes = 16 << 20 // of one column of bytes

	minArray  = 8    // fewer rows are as fast with a parameter for each value
	maxArray  = 1000 // rows of one statement
	shortList = 8    // keys up to which a list has a parameter for each
)

// arrays returns the statement that inserts rows with an array for each column, and its arguments. ok is false if the
// type of a column does not follow from its values.
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

// array returns one column of rows and its placeholder.
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
	case []byte:
		all, ok := values[[]byte](rows, i)
		size := 0
		for _, one := range all {
			size += len(one)
		}
		return all, "?::bytea[]", ok && size <= maxArrayBytes
	case Timestamp:
		times, ok := values[Timestamp](rows, i)
		out := make([]*int64, len(times))
		for n, s := range times {
			if t := time.Time(s); !t.IsZero() {
				us := t.UnixMicro()
				out[n] = &us
			}
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

// values returns one column of rows; ok is false if not all values have the type.
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

// longList returns the condition that a column is one of many keys, and its one argument.
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
