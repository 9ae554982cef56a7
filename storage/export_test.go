package storage

import "database/sql"

// StatePool returns the connections that write state.
func (db *DB) StatePool() *sql.DB { return db.set(State).pools.Write }

// HistoryPool returns the connections that write history.
func (db *DB) HistoryPool() *sql.DB { return db.set(History).pools.Write }

// Pending returns the number of queued writes.
func (db *DB) Pending() int { return len(db.set(State).group.queue) }

// Abandoned reports whether queued writes are refused.
func (db *DB) Abandoned() bool { return db.set(State).group.abandoned.Load() }

// Limits returns the bytes of free space below which history is removed, and those of the reserve.
func Limits(opts Options, total int64) (minFree, reserve int64) { return newKeeper(opts).limits(total) }
