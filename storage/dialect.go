package storage

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// ErrorClass is what an error of a database driver means.
type ErrorClass uint8

// The classes that are distinguished.
const (
	Other   ErrorClass = iota
	Unique             // a row with the same key exists
	Full               // no space on the disk
	Retry              // the transaction met another one; the same transaction may succeed now
	Corrupt            // the database file is damaged
	Away               // the server cannot be reached, or does not accept work now
	Denied             // the role lacks a right
)

// Dialect is what the databases do differently. The packages sqlite and postgres implement it.
type Dialect interface {
	// Name returns sqlite or postgres.
	Name() string
	// Types returns the column types for the placeholders of migrations: bytes, float, text (compared byte by byte),
	// serial (a primary key that the database counts up) and key (a primary key of numbers that the store assigns);
	// and clustered, which after a table's columns keeps its rows in the order of the primary key where the database
	// can; and postgres, which begins a line that other databases omit.
	Types() map[string]string
	// Classify returns what an error of the driver means.
	Classify(err error) ErrorClass
	// AdvisoryLock keeps other processes from the named work until release. The work must be done with the returned
	// Held, which notices that the lock was lost. A nil Held means that there are no other processes.
	AdvisoryLock(ctx context.Context, pool *sql.DB, name string) (held Held, release func() error, err error)
	// SyncSequence makes a serial column continue after rows that were inserted with their own numbers.
	SyncSequence(ctx context.Context, tx *sql.Tx, table, column string) error
	// DiskSize returns the bytes that a database takes on its disk.
	DiskSize(ctx context.Context, pool *sql.DB) (int64, error)
	// ReclaimSpace returns the space of deleted rows to the disk, as far as that is cheap.
	ReclaimSpace(ctx context.Context, pool *sql.DB) error
	// Features returns how the database is used best.
	Features() Features
}

// Notifier is a [Dialect] of a server that notifies connections.
type Notifier interface {
	// Listen takes a connection of pool and calls notified with the payloads of a channel, which is a word of lower-case letters and _, after it has called ready. It returns when
	// ctx ends or the connection does.
	Listen(ctx context.Context, pool *sql.DB, channel string, ready func(), notified func(payload string)) error
}

// Features is how a database is used best.
type Features struct {
	Numbered    bool // parameters are $1, $2 instead of ?
	Group       bool // one writer: writes of several callers share a transaction
	Prepare     bool // the driver does not keep prepared statements by itself
	MultiRow    bool // inserts of many rows in one statement are faster than one by one
	Arrays      bool // a parameter may be an array
	Isolation   sql.IsolationLevel
	ViewOptions sql.TxOptions

	Begin     string // a statement that comes first in every transaction; empty for none
	LockTable string // a statement that locks the table %s for one writer; empty where there is one anyway
	NoSync    string // a statement after which a transaction need not be durable; empty for none
	Patient   string // a statement after which a transaction may pause between its statements; empty if it may anyway
	Contains  string // the condition that the column %s contains the text ?
	Tables    string // a query for the names of all tables
}

// Held begins the transactions of work under an advisory lock. *sql.Conn is one.
type Held interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
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
