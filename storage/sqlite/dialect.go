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
		"key": "INTEGER PRIMARY KEY", "clustered": " WITHOUT ROWID", "postgres": "-- ",
	}
}

func (dialect) Classify(err error) storage.ErrorClass {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return storage.Other
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return storage.Unique
	case sqlite3.SQLITE_IOERR_SHMSIZE: // the index of the write-ahead log cannot grow
		return storage.Full
	}
	switch e.Code() & 0xff { // the rest are details of the cause
	case sqlite3.SQLITE_FULL:
		return storage.Full
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return storage.Retry
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return storage.Corrupt
	}
	return storage.Other
}

// AdvisoryLock has nothing to do: one process writes, and a writing transaction begins with the only write lock.
func (dialect) AdvisoryLock(context.Context, *sql.DB, string) (storage.Held, func() error, error) {
	return nil, func() error { return nil }, nil
}

// SyncSequence has nothing to do: AUTOINCREMENT follows the highest number by itself.
func (dialect) SyncSequence(context.Context, *sql.Tx, string, string) error { return nil }

func (dialect) DiskSize(ctx context.Context, pool *sql.DB) (int64, error) {
	var pages, size int64
	if err := pool.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return 0, err
	}
	err := pool.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size)
	return pages * size, err
}

// reclaimPages bounds how long one call keeps the write lock.
const reclaimPages = "2000"

func (dialect) ReclaimSpace(ctx context.Context, pool *sql.DB) error {
	for {
		var before, after int64
		if err := pool.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&before); err != nil {
			return err
		}
		if before == 0 {
			return checkpoint(ctx, pool)
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

// checkpoint copies the write-ahead log into the file: only then the file becomes shorter.
func checkpoint(ctx context.Context, pool *sql.DB) error {
	_, err := pool.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return err
}

func (dialect) Features() storage.Features {
	return storage.Features{
		Group: true, Prepare: true, ViewOptions: sql.TxOptions{ReadOnly: true}, Contains: "instr(%s, ?) > 0",
		Tables: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`,
	}
}
