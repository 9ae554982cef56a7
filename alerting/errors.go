package alerting

import "github.com/otkit/otkit/fault"

// ErrInvalidTimeRange is returned if a start is not before its end.
var ErrInvalidTimeRange = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "start must be before end")

// ErrPageSizeExceeded is returned if a page is larger than its maximum.
var ErrPageSizeExceeded = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "pageSize is above its maximum")

// ErrInvalidRequest names the members of a request that break a rule.
var ErrInvalidRequest = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")

// ErrChannelNotFound is returned for a channel that does not exist or has no settings.
var ErrChannelNotFound = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND", "channel is not known or has no settings")

// ErrChannelFailed is returned if a channel does not accept a test message.
var ErrChannelFailed = fault.New(fault.BadGateway, "CHANNEL_FAILED", "the channel did not take the message")
