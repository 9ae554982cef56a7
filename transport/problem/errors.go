package problem

import "github.com/otkit/otkit/fault"

// Errors that belong to the wire itself rather than to a domain.
var (
	ErrInternal         = fault.New(fault.Internal, "INTERNAL_ERROR", "internal error")
	ErrInvalidRequest   = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
	ErrNotFound         = fault.New(fault.NotFound, "NOT_FOUND", "there is nothing at this path")
	ErrMethodNotAllowed = fault.New(fault.MethodNotAllowed, "METHOD_NOT_ALLOWED", "the method is not allowed on this path")
	ErrBodyTooLarge     = fault.New(fault.TooLarge, "BODY_TOO_LARGE", "body is larger than the limit")
	ErrMediaType        = fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "the content type is not supported")
	ErrCanceled         = fault.New(fault.Canceled, "CANCELED", "request was given up before it was done")
)
