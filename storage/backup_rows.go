package storage

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// column is a table's column in an archive. The first line of a table's member lists them; each
// further line is a row, an array in their order.
type column struct {
	Name string     `json:"name"`
	Type columnType `json:"type"`
}

// columnType is how a value is written: int as a number, float as a string that keeps every bit,
// text as a string, bytes in base64, bool as true or false. Each may be null.
type columnType string

const (
	columnInt   columnType = "int"
	columnFloat columnType = "float"
	columnText  columnType = "text"
	columnBytes columnType = "bytes"
	columnBool  columnType = "bool"
)

// columnTypeOf returns the type for the name that either database has for it.
func columnTypeOf(name string) (columnType, error) {
	switch strings.ToUpper(name) {
	case "BIGINT", "INT8", "INTEGER":
		return columnInt, nil
	case "REAL", "FLOAT8", "DOUBLE PRECISION":
		return columnFloat, nil
	case "TEXT":
		return columnText, nil
	case "BLOB", "BYTEA":
		return columnBytes, nil
	case "BOOLEAN", "BOOL":
		return columnBool, nil
	}
	return "", fmt.Errorf("column type %q has no form in an archive", name)
}

// writeTable writes a table's member and returns the number of rows.
func writeTable(ctx context.Context, tx *Tx, t Table, w *bufio.Writer) (int64, error) {
	var (
		columns []column
		values  []any
		line    []byte
		count   int64
	)
	err := tx.Each(ctx, "SELECT * FROM "+t.Name+" ORDER BY "+t.Key, nil, func(row Scanner) error {
		if columns == nil {
			var err error
			if columns, err = columnsOf(row.(*sql.Rows)); err != nil {
				return err
			}
			if err := writeColumns(w, columns); err != nil {
				return err
			}
			values = newValues(columns)
		}
		if err := row.Scan(values...); err != nil {
			return err
		}
		line = appendRow(line[:0], values)
		count++
		_, err := w.Write(line)
		return err
	})
	if err != nil || columns != nil {
		return count, err
	}
	return 0, writeColumns(w, []column{})
}

func columnsOf(rows *sql.Rows) ([]column, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	columns := make([]column, len(types))
	for i, t := range types {
		columns[i].Name = t.Name()
		if columns[i].Type, err = columnTypeOf(t.DatabaseTypeName()); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

func writeColumns(w *bufio.Writer, columns []column) error {
	head, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	_, err = w.Write(append(head, '\n'))
	return err
}

// newValues returns what a row is scanned into.
func newValues(columns []column) []any {
	values := make([]any, len(columns))
	for i, c := range columns {
		switch c.Type {
		case columnInt:
			values[i] = new(sql.NullInt64)
		case columnFloat:
			values[i] = new(sql.NullFloat64)
		case columnText:
			values[i] = new(sql.NullString)
		case columnBytes:
			values[i] = new(blob)
		case columnBool:
			values[i] = new(sql.NullBool)
		}
	}
	return values
}

// blob distinguishes empty bytes from null. Its data belong to the driver, until the next row.
type blob struct {
	data  []byte
	valid bool
}

// Scan implements sql.Scanner.
func (b *blob) Scan(src any) error {
	b.data, b.valid = nil, src != nil
	if data, ok := src.([]byte); ok || src == nil {
		b.data = data
		return nil
	}
	return fmt.Errorf("bytes are stored as %T", src)
}

func appendRow(line []byte, values []any) []byte {
	line = append(line, '[')
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendValue(line, v)
	}
	return append(line, ']', '\n')
}

func appendValue(line []byte, value any) []byte {
	switch v := value.(type) {
	case *sql.NullInt64:
		if v.Valid {
			return strconv.AppendInt(line, v.Int64, 10)
		}
	case *sql.NullFloat64:
		if v.Valid {
			line = append(line, '"')
			line = strconv.AppendFloat(line, v.Float64, 'g', -1, 64)
			return append(line, '"')
		}
	case *sql.NullString:
		if v.Valid {
			text, err := json.Marshal(v.String)
			if err == nil { // a string always has a form
				return append(line, text...)
			}
		}
	case *blob:
		if v.valid {
			line = append(line, '"')
			line = base64.StdEncoding.AppendEncode(line, v.data)
			return append(line, '"')
		}
	case *sql.NullBool:
		if v.Valid {
			return strconv.AppendBool(line, v.Bool)
		}
	}
	return append(line, "null"...)
}

// readValue reads what appendValue has written.
func readValue(t columnType, raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	if t == columnInt {
		return strconv.ParseInt(string(raw), 10, 64)
	}
	if t == columnBool {
		return strconv.ParseBool(string(raw))
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	switch t {
	case columnText:
		return text, nil
	case columnFloat:
		return strconv.ParseFloat(text, 64)
	case columnBytes:
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, fmt.Errorf("column type %q is unknown", t)
}
