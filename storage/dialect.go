package storage

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// Failure says what an error of a database driver means.
type Failure uint8

// The failures that are told apart.
const (
	Other   Failure = iota
	Unique          // a row with the same key exists
	Full            // no room on the disk
	Retry           // the transaction met another one; the same transaction may succeed now
	Damaged         // the database file is not readable as one
)

// Dialect is what the databases do differently. The packages sqlite and postgres have the two that
// there are.
type Dialect interface {
	// Name is sqlite or postgres.
	Name() string
	// Types gives the column types for the placeholders of the migrations: bytes, float, text
	// (compared byte by byte), serial (a primary key that the database counts up) and key (a primary
	// key of numbers that the store gives); and clustered, which after a table's columns keeps its rows in
	// the order of the primary key where the database can.
	Types() map[string]string
	// Classify says what an error of the driver means.
	Classify(err error) Failure
	// Hold keeps other processes from the named work while conn is open and until release. A nil
	// conn says that there are no other processes and nothing needs holding.
	Hold(ctx context.Context, pool *sql.DB, name string) (conn *sql.Conn, release func() error, err error)
	// Loaded is told that rows with their own numbers were put into a serial column.
	Loaded(ctx context.Context, tx *sql.Tx, table, column string) error
	// Bytes gives what a database takes on its disk.
	Bytes(ctx context.Context, pool *sql.DB) (int64, error)
	// Reclaim gives room that deleted rows took back to the disk, as far as that is cheap.
	Reclaim(ctx context.Context, pool *sql.DB) error
	// Traits says how the database likes to be used.
	Traits() Traits
}

// Traits says how a database likes to be used.
type Traits struct {
	Numbered    bool // parameters are $1, $2 instead of ?
	Group       bool // one writer: writes of several callers share a transaction
	Prepare     bool // the driver does not keep prepared statements by itself
	MultiRow    bool // inserts of many rows in one statement are faster than one by one
	Arrays      bool // a parameter may be an array
	Isolation   sql.IsolationLevel
	ViewOptions sql.TxOptions
}

// rebind turns ? parameters into $1, $2. A query must have no question mark in a literal.
func rebind(query string) string {
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for {
		i := strings.IndexByte(query, '?')
		if i < 0 {
			b.WriteString(query)
			return b.String()
		}
		n++
		b.WriteString(query[:i])
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = query[i+1:]
	}
}
