package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/otkit/otkit/storage"
)

// dialect is storage.Dialect for SQLite.
type dialect struct{}

func (dialect) Name() string { return "sqlite" }

func (dialect) Types() map[string]string {
	return map[string]string{
		"bytes": "BLOB", "float": "REAL", "text": "TEXT", "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
		"key": "INTEGER PRIMARY KEY", "clustered": " WITHOUT ROWID",
	}
}

func (dialect) Classify(err error) storage.Failure {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return storage.Other
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return storage.Unique
	}
	switch e.Code() & 0xff { // the rest are details of the cause
	case sqlite3.SQLITE_FULL:
		return storage.Full
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return storage.Retry
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return storage.Damaged
	}
	return storage.Other
}

// Hold has nothing to do: one process writes, and a writing transaction begins with the database's
// only write lock.
func (dialect) Hold(context.Context, *sql.DB, string) (*sql.Conn, func() error, error) {
	return nil, func() error { return nil }, nil
}

// Loaded has nothing to do: AUTOINCREMENT follows the highest number by itself.
func (dialect) Loaded(context.Context, *sql.Tx, string, string) error { return nil }

func (dialect) Bytes(ctx context.Context, pool *sql.DB) (int64, error) {
	var pages, size int64
	if err := pool.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return 0, err
	}
	err := pool.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size)
	return pages * size, err
}

// reclaimPages bounds how long one call keeps the write lock.
const reclaimPages = "2000"

func (dialect) Reclaim(ctx context.Context, pool *sql.DB) error {
	for {
		var before, after int64
		if err := pool.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&before); err != nil {
			return err
		}
		if before == 0 {
			return nil
		}
		if _, err := pool.ExecContext(ctx, "PRAGMA incremental_vacuum("+reclaimPages+")"); err != nil {
			return err
		}
		if err := pool.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&after); err != nil {
			return err
		}
		if after >= before { // the file was made without auto_vacuum: its pages are used again, but not given back
			return nil
		}
	}
}

func (dialect) Traits() storage.Traits {
	return storage.Traits{Group: true, Prepare: true, ViewOptions: sql.TxOptions{ReadOnly: true}}
}
