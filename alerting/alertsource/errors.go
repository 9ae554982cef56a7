package alertsource

import "github.com/otkit/otkit/fault"

// ErrInvalidPayload stands for a webhook body that is no JSON object or has no alerts.
var ErrInvalidPayload = fault.New(fault.Invalid, "INVALID_PAYLOAD", "webhook body is not valid")

// ErrNothingStored tells the sender of a webhook to try again: none of its alerts could be kept.
var ErrNothingStored = fault.New(fault.Internal, "STORAGE_FAILED", "no alert could be stored")

// ErrTooManyAlarms tells the sender of a webhook to try again later: so many alarms are active that some
// of its alerts were not raised.
var ErrTooManyAlarms = fault.New(fault.TooMany, "TOO_MANY_ALARMS", "too many alarms of outside alerts are active; see alerting.maxActive")
