package alertsource

import "github.com/otkit/otkit/fault"

// ErrInvalidPayload is returned for a body that is not a JSON object or has no alerts.
var ErrInvalidPayload = fault.New(fault.Invalid, "INVALID_PAYLOAD", "webhook body is not valid")

// ErrNotSupported is the answer to senders if the history of a server cannot receive alerts.
var ErrNotSupported = fault.New(fault.NotFound, "WEBHOOK_NOT_SUPPORTED", "the store of this server cannot receive alerts of other systems")

// ErrNothingStored is returned if no alert could be stored. The sender should try again.
var ErrNothingStored = fault.New(fault.Internal, "STORAGE_FAILED", "no alert could be stored")

// ErrTooManyAlarms is returned if so many alarms are active that some alerts were not raised. The sender should try again later.
var ErrTooManyAlarms = fault.New(fault.TooMany, "TOO_MANY_ALARMS", "too many alarms of outside alerts are active; see alerting.maxActive")
