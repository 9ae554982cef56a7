package alarms

import "github.com/otkit/otkit/fault"

// Errors that callers meet. Their codes are part of the service interface.
var (
	ErrAlarmNotFound       = fault.New(fault.NotFound, "ALARM_NOT_FOUND", "alarm not found")
	ErrAlreadyAcknowledged = fault.New(fault.AlreadyExists, "ALREADY_ACKNOWLEDGED", "alarm is acknowledged already")
	ErrNotJournaled        = fault.New(fault.Unavailable, "ALARM_NOT_JOURNALED", "alarm is not journaled yet, since the storage cannot be written; try again when it can")
	ErrNotReturned         = fault.New(fault.Conflict, "ALARM_NOT_RETURNED", "alarm cannot be reset while its condition lasts")
	ErrInvalidAlarm        = fault.New(fault.Invalid, "INVALID_ALARM", "alarm is not valid")
	ErrInvalidRequest      = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
	ErrInvalidTimeRange    = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "time range is not valid")
	ErrPageSizeExceeded    = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "page size is above its maximum")
	ErrBatchSizeExceeded   = fault.New(fault.Invalid, "BATCH_SIZE_EXCEEDED", "too many alarms in one batch")
	ErrSlowSubscriber      = fault.New(fault.TooMany, "SLOW_SUBSCRIBER", "subscriber is too slow and was ended")
	ErrClosed              = fault.New(fault.Unavailable, "ALARMS_STOPPED", "the alarm service has stopped")
	ErrOutcomeUnknown      = fault.New(fault.Unavailable, "OUTCOME_UNKNOWN", "the alarm store has not answered in time: whether it was done is not known")
)

// errCanceled is given when the caller's context ends before its call began to be carried out.
var errCanceled = fault.New(fault.Canceled, "CANCELED", "the call was given up")
