package problem

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/otkit/otkit/fault"
)

// StatusClientClosed is the HTTP status of a request whose client has gone. Nobody receives it; it
// tells such requests apart in logs and metrics.
const StatusClientClosed = 499

// Row is what both transports make of an error.
type Row struct {
	Status int        // HTTP status
	GRPC   codes.Code // gRPC code
	Code   string     // for errors that have none of their own
}

// byKind has a row for every kind of fault.
var byKind = map[fault.Kind]Row{
	fault.Internal:        {http.StatusInternalServerError, codes.Internal, "INTERNAL_ERROR"},
	fault.Invalid:         {http.StatusBadRequest, codes.InvalidArgument, "INVALID_REQUEST"},
	fault.Unauthenticated: {http.StatusUnauthorized, codes.Unauthenticated, "UNAUTHORIZED"},
	fault.Forbidden:       {http.StatusForbidden, codes.PermissionDenied, "FORBIDDEN"},
	fault.NotFound:        {http.StatusNotFound, codes.NotFound, "NOT_FOUND"},
	fault.AlreadyExists:   {http.StatusConflict, codes.AlreadyExists, "ALREADY_EXISTS"},
	fault.Conflict:        {http.StatusConflict, codes.FailedPrecondition, "CONFLICT"},
	fault.TooLarge:        {http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "BODY_TOO_LARGE"},
	fault.Unsupported:     {http.StatusUnsupportedMediaType, codes.InvalidArgument, "UNSUPPORTED_MEDIA_TYPE"},
	fault.TooMany:         {http.StatusTooManyRequests, codes.ResourceExhausted, "TOO_MANY_REQUESTS"},
	fault.Unavailable:     {http.StatusServiceUnavailable, codes.Unavailable, "UNAVAILABLE"},
	fault.BadGateway:      {http.StatusBadGateway, codes.Unavailable, "BAD_GATEWAY"},
	fault.Canceled:        {StatusClientClosed, codes.Canceled, "CANCELED"},
	fault.NotAllowed:      {http.StatusMethodNotAllowed, codes.Unimplemented, "METHOD_NOT_ALLOWED"},
}

// byCode has the codes that the service interface treats otherwise than their kind. A code that is
// answered with 500 and yet has a text for the caller is declared with another kind than Internal.
var byCode = map[string]Row{
	"INVALID_DRIVER":       {http.StatusBadRequest, codes.NotFound, ""},
	"ALREADY_ACKNOWLEDGED": {http.StatusConflict, codes.AlreadyExists, ""},
	"VERSION_CHANGED":      {http.StatusPreconditionFailed, codes.Aborted, ""},
	"MODEL_NOT_AVAILABLE":  {http.StatusInternalServerError, codes.Unavailable, ""},
	"TRAINING_FAILED":      {http.StatusInternalServerError, codes.FailedPrecondition, ""},
	"NOT_ACCEPTABLE":       {http.StatusNotAcceptable, codes.InvalidArgument, ""},
	"RANGE_NOT_SATISFIED":  {http.StatusRequestedRangeNotSatisfiable, codes.OutOfRange, ""},
	"NOT_IMPLEMENTED":      {http.StatusNotImplemented, codes.Unimplemented, ""},
}

// Lookup gives the row of an error, with its own code where it has one.
func Lookup(err error) Row {
	f := faultOf(err)
	row, ok := byCode[f.Code]
	if !ok {
		row = byKind[f.Kind]
	}
	if f.Code != "" {
		row.Code = f.Code
	}
	if f.Kind == fault.Canceled && errors.Is(err, context.DeadlineExceeded) {
		row.Status, row.GRPC = http.StatusGatewayTimeout, codes.DeadlineExceeded
	}
	return row
}

// faultOf gives the fault of an error. The end of a context counts as Canceled also when a domain
// has wrapped it as a failure of its own, and whatever else has no fault is Internal.
func faultOf(err error) *fault.Error {
	f, ok := fault.From(err)
	if ok && f.Kind != fault.Internal {
		return f
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ErrCanceled.Wrap(err)
	}
	if ok {
		return f
	}
	return ErrInternal.Wrap(err)
}

// text is what a caller may read: never the cause, and nothing at all of an internal error.
func text(f *fault.Error) string {
	if f.Kind == fault.Internal {
		return ErrInternal.Message
	}
	return f.Message
}
