package audit

import "github.com/otkit/otkit/fault"

// Errors of the log and of stores.
var (
	// ErrUnavailable refuses an act because its intent could not be stored.
	ErrUnavailable = fault.New(fault.Unavailable, "AUDIT_UNAVAILABLE", "the audit log cannot be written, so the change was refused")
	// ErrClosed is returned by a log that was closed.
	ErrClosed = fault.New(fault.Unavailable, "AUDIT_UNAVAILABLE", "the audit log is closed")
	// ErrInvalidQuery names the filter that breaks a rule.
	ErrInvalidQuery = fault.New(fault.Invalid, "INVALID_REQUEST", "audit query is not valid")
	// ErrPageSizeExceeded refuses a page above MaxPage.
	ErrPageSizeExceeded = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "page size is above its maximum")
	// ErrInvalidTimeRange refuses a query whose start is not before its end.
	ErrInvalidTimeRange = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "start must be before end")
	// ErrRecordNotFound is returned for an id without a record.
	ErrRecordNotFound = fault.New(fault.NotFound, "AUDIT_RECORD_NOT_FOUND", "audit record not found")
)
