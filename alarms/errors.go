package alarms

import "github.com/otkit/otkit/fault"

// Errors of the package. Their codes are part of the API.
var (
	ErrAlarmNotFound       = fault.New(fault.NotFound, "ALARM_NOT_FOUND", "alarm not found")
	ErrAlreadyAcknowledged = fault.New(fault.AlreadyExists, "ALREADY_ACKNOWLEDGED", "alarm is already acknowledged")
	ErrNotJournaled        = fault.New(fault.Unavailable, "ALARM_NOT_JOURNALED", "alarm is not journaled yet because the storage cannot be written; try again later")
	ErrNotReturned         = fault.New(fault.Conflict, "ALARM_NOT_RETURNED", "alarm cannot be reset before its condition returns to normal")
	ErrInvalidAlarm        = fault.New(fault.Invalid, "INVALID_ALARM", "alarm is not valid")
	ErrInvalidRequest      = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
	ErrInvalidTimeRange    = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "time range is not valid")
	ErrPageSizeExceeded    = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "page size is above its maximum")
	ErrBatchSizeExceeded   = fault.New(fault.Invalid, "BATCH_SIZE_EXCEEDED", "too many alarms in one batch")
	ErrSlowSubscriber      = fault.New(fault.TooMany, "SLOW_SUBSCRIBER", "subscription ended because the subscriber is too slow")
	ErrClosed              = fault.New(fault.Unavailable, "ALARMS_STOPPED", "alarm service has stopped")
	ErrSignalLapsed        = fault.New(fault.Conflict, "SIGNAL_LAPSED", "signal may not be stored any more")
	ErrOutcomeUnknown      = fault.New(fault.Unavailable, "OUTCOME_UNKNOWN", "alarm store timed out; outcome unknown")
)

// errCanceled is returned if the context of a call ends before the call is begun.
var errCanceled = fault.New(fault.Canceled, "CANCELED", "call canceled")
