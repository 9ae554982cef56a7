package tagconfig

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/otkit/otkit/fault"
)

// Errors of the store and of the spreadsheets.
var (
	ErrEmpty   = fault.New(fault.Invalid, "INVALID_REQUEST", "the list of tags is empty")
	ErrInvalid = fault.New(fault.Invalid, "INVALID_TAG_CONFIG", "tag configuration is not valid")
	ErrTooMany = fault.New(fault.TooLarge, "TOO_MANY_TAGS", "too many tags are configured")
	// ErrTagLimit refuses to add tags beyond the limit that BulkWithin was given.
	ErrTagLimit = fault.New(fault.Conflict, "TAG_LIMIT", "no more tags may be added to the configuration")
	ErrNotFound = fault.New(fault.NotFound, "TAG_NOT_FOUND", "tag is not configured")
	// ErrRevision is returned by a Repository whose configuration has changed meanwhile.
	ErrRevision = fault.New(fault.Conflict, "CONFIG_CHANGED", "the tag configuration has been changed meanwhile")
	// ErrInUse refuses to remove tags that others use.
	ErrInUse       = fault.New(fault.Conflict, "TAG_IN_USE", "the tag is in use")
	ErrNotSaved    = fault.New(fault.Internal, "CONFIG_NOT_SAVED", "the tag configuration could not be saved")
	ErrFull        = fault.New(fault.Unavailable, "STORAGE_FULL", "the disk is full; the tag configuration could not be saved").With("retryAfter", "2")
	ErrModelFile   = fault.New(fault.Internal, "MODEL_FILE_INVALID", "the model file cannot be used")
	ErrSpreadsheet = fault.New(fault.Invalid, "INVALID_SPREADSHEET", "the file cannot be imported")
	ErrNotJSON     = fault.New(fault.Invalid, "INVALID_REQUEST", "the file is not JSON")
	ErrSheetSize   = fault.New(fault.TooLarge, "SPREADSHEET_TOO_LARGE", "the file is too large to be imported")
	ErrFormat      = fault.New(fault.Unsupported, "UNSUPPORTED_FORMAT", "format is not csv, xlsx or json")
)

// notSaved returns the error for a file that could not be written.
func notSaved(err error) error {
	if errors.Is(err, syscall.ENOSPC) { // the engine may make space, so that a later attempt succeeds
		return ErrFull.Wrap(err)
	}
	return ErrNotSaved.Wrap(err)
}

// maxFaults bounds how many faults one error lists.
const maxFaults = 100

// faults collects what is wrong with a request, up to maxFaults.
type faults struct {
	list []fault.Field
	more int
}

func (f *faults) add(field, format string, args ...any) {
	if f.full() {
		f.more++
		return
	}
	f.list = append(f.list, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (f *faults) full() bool { return len(f.list) >= maxFaults }

func (f *faults) count() int { return len(f.list) + f.more }

// err returns base with the faults, or nil when there are none.
func (f *faults) err(base *fault.Error) error {
	if len(f.list) == 0 {
		return nil
	}
	if f.more > 0 {
		base = base.Because("only the first %d faults are listed", maxFaults)
	}
	return base.Invalid(f.list...)
}
