package storage

import (
	"context"
	"database/sql"
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors of the package. Stores also return the errors of their domains.
var (
	ErrFull       = fault.New(fault.Unavailable, "STORAGE_FULL", "storage is full")
	ErrAway       = fault.New(fault.Unavailable, "STORAGE_UNAVAILABLE", "the database cannot be reached").With("retryAfter", "5")
	ErrBusy       = fault.New(fault.Unavailable, "STORAGE_BUSY", "storage is busy")
	ErrClosed     = fault.New(fault.Unavailable, "STORAGE_CLOSED", "storage is closed")
	ErrUnique     = fault.New(fault.AlreadyExists, "STORAGE_UNIQUE", "a row with this key exists")
	ErrNewer      = fault.New(fault.Conflict, "STORAGE_NEWER", "the database was written by a newer version of the program")
	ErrOlder      = fault.New(fault.Conflict, "STORAGE_OLDER", "the database was written by an older version of the program")
	ErrNoTables   = fault.New(fault.Conflict, "STORAGE_NO_TABLES", "the database has no tables yet")
	ErrCorrupt    = fault.New(fault.Internal, "STORAGE_CORRUPT", "stored data is damaged")
	ErrFailed     = fault.New(fault.Internal, "STORAGE_FAILED", "storage failed")
	ErrDenied     = fault.New(fault.Internal, "STORAGE_DENIED", "the role of the database may not do this")
	ErrNotEmpty   = fault.New(fault.Conflict, "STORAGE_NOT_EMPTY", "the database is not empty")
	ErrBadArchive = fault.New(fault.Invalid, "BACKUP_INVALID", "the archive is not a usable backup")
	ErrOption     = fault.New(fault.Invalid, "STORAGE_OPTION", "storage option is not valid")
	ErrUnowned    = fault.New(fault.Conflict, "STORAGE_UNOWNED", "a table belongs to no schema")
	ErrCanceled   = fault.New(fault.Canceled, "CANCELED", "the caller canceled the request")
)

// explain turns an error of database/sql or of a driver into one of this package. Errors that have a
// kind already stay as they are.
func explain(d Dialect, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := fault.From(err); ok {
		return err
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ErrCanceled.Wrap(err)
	case errors.Is(err, sql.ErrTxDone): // database/sql ended the transaction when its context ended
		return ErrCanceled.Wrap(errors.Join(context.Canceled, err))
	}
	switch d.Classify(err) {
	case Unique:
		return ErrUnique.Wrap(err)
	case Full:
		return ErrFull.Wrap(err)
	case Retry:
		return ErrBusy.Wrap(err)
	case Corrupt:
		return ErrCorrupt.Wrap(err)
	case Away:
		return ErrAway.Wrap(err)
	case Denied:
		return ErrDenied.Wrap(err)
	}
	return ErrFailed.Wrap(err)
}
