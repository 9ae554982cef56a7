package alertsource

import "github.com/otkit/otkit/fault"

// ErrInvalidPayload stands for a webhook body that is no JSON object or has no alerts.
var ErrInvalidPayload = fault.New(fault.Invalid, "INVALID_PAYLOAD", "webhook body is not valid")

// ErrNotSupported is the answer to senders if the history of a server cannot receive alerts.
var ErrNotSupported = fault.New(fault.NotFound, "WEBHOOK_NOT_SUPPORTED", "the store of this server cannot receive alerts of other systems")

// ErrNothingStored tells the sender of a webhook to try again: none of its alerts could be kept.
var ErrNothingStored = fault.New(fault.Internal, "STORAGE_FAILED", "no alert could be stored")

// ErrTooManyAlarms tells the sender of a webhook to try again later: so many alarms are active that some
// of its alerts were not raised.
var ErrTooManyAlarms = fault.New(fault.TooMany, "TOO_MANY_ALARMS", "too many alarms of outside alerts are active; see alerting.maxActive")
