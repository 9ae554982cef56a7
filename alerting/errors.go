package alerting

import "github.com/otkit/otkit/fault"

// Errors that callers meet.
var (
	// ErrInvalidSilence names the members that break a rule.
	ErrInvalidSilence  = fault.New(fault.Invalid, "INVALID_SILENCE", "silence is not valid")
	ErrSilenceNotFound = fault.New(fault.NotFound, "SILENCE_NOT_FOUND", "silence not found")

	ErrRecordNotFound   = fault.New(fault.NotFound, "ALERT_NOT_FOUND", "alert record not found")
	ErrInvalidTimeRange = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "start must be before end")
	ErrPageSizeExceeded = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "pageSize is above its maximum")
	ErrInvalidRequest   = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")

	// ErrInvalidPayload stands for a webhook body that is no JSON object or has no alerts.
	ErrInvalidPayload = fault.New(fault.Invalid, "INVALID_PAYLOAD", "webhook body is not valid")
	// ErrNothingStored tells the sender of a webhook to try again: none of its alerts could be kept.
	ErrNothingStored = fault.New(fault.Internal, "STORAGE_FAILED", "no alert could be stored")

	ErrChannelNotFound    = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND", "channel is not known or has no settings")
	ErrChannelFailed      = fault.New(fault.BadGateway, "CHANNEL_FAILED", "the channel did not take the message")
	ErrDeadLetterNotFound = fault.New(fault.NotFound, "DEAD_LETTER_NOT_FOUND", "dead letter not found")

	// ErrCursorMoved is what [Outbox.Plan] gives when another dispatcher has planned in between.
	ErrCursorMoved = fault.New(fault.Conflict, "CURSOR_MOVED", "another dispatcher has planned these events")
)
