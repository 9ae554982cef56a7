package tags

import (
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors that callers of the engine meet. Their codes are part of the API.
var (
	ErrTagNotFound       = fault.New(fault.NotFound, "TAG_NOT_FOUND", "tag not found")
	ErrInvalidDriver     = fault.New(fault.Invalid, "INVALID_DRIVER", "driver id is not a known driver")
	ErrReadOnly          = fault.New(fault.Forbidden, "READ_ONLY_TAG", "tag is read-only")
	ErrInvalidValue      = fault.New(fault.Invalid, "INVALID_VALUE", "value is not valid")
	ErrDriverOffline     = fault.New(fault.Unavailable, "DRIVER_OFFLINE", "driver is offline")
	ErrQueueFull         = fault.New(fault.Unavailable, "WRITE_QUEUE_FULL", "too many writes wait for the driver")
	ErrBatchSizeExceeded = fault.New(fault.Invalid, "BATCH_SIZE_EXCEEDED", "more than 500 items in one batch")
	ErrPageSizeExceeded  = fault.New(fault.Invalid, "PAGE_SIZE_EXCEEDED", "pageSize is above its maximum")
	ErrInvalidTimeRange  = fault.New(fault.Invalid, "INVALID_TIME_RANGE", "start must be before end")
	ErrInvalidRequest    = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
	ErrWriteExists       = fault.New(fault.Conflict, "WRITE_EXISTS", "there is a write of this id")
	ErrWriteNotFound     = fault.New(fault.NotFound, "WRITE_NOT_FOUND", "write not found")
	ErrInvalidTag        = fault.New(fault.Invalid, "INVALID_TAG", "tag definition is not valid")
	ErrDriverExists      = fault.New(fault.AlreadyExists, "DRIVER_EXISTS", "driver id is in use")
	ErrWriteUnanswered   = fault.New(fault.Unavailable, "WRITE_UNANSWERED", "the engine that runs the driver did not answer; the write may have been queued")
	ErrClosed            = fault.New(fault.Unavailable, "ENGINE_STOPPED", "the tag engine has stopped")
)

// ErrNotConnected is what a driver returns from Read, Write or Subscribe, wrapped or not, when its
// connection is gone. The engine then calls Connect again, with backoff.
var ErrNotConnected = errors.New("driver is not connected")

// ErrUncertain is what a driver wraps in the error of a write whose outcome is unknown: the request
// may have reached the device, but no answer came, or one that cannot be understood. The engine then
// calls the write WriteUnknown and not WriteFailed.
var ErrUncertain = errors.New("the device may have taken the value")

// Errors that a driver sets on single readings and writes. The engine turns those of readings into a quality reason.
var (
	ErrNoSuchAddress = errors.New("the device has no such address")
	ErrAddress       = errors.New("address cannot be read by this driver")
	ErrDevice        = errors.New("the device answered with an error")
	ErrTimeout       = errors.New("the device did not answer in time")
	ErrType          = errors.New("the device's value does not fit the tag's data type")
)
