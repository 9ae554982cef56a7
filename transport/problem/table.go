package problem

import (
	"context"
	"errors"
	"net/http"

	"github.com/otkit/otkit/fault"
)

// StatusClientClosed is the HTTP status of a request whose client has gone. Nobody receives it; it
// tells such requests apart in logs and metrics.
const StatusClientClosed = 499

// GRPCCode is a status code of gRPC by its number there, so that this package does without gRPC. Package
// problemgrpc has the statuses.
type GRPCCode uint32

// The codes of gRPC that the table has.
const (
	canceled           GRPCCode = 1
	invalidArgument    GRPCCode = 3
	deadlineExceeded   GRPCCode = 4
	notFound           GRPCCode = 5
	alreadyExists      GRPCCode = 6
	permissionDenied   GRPCCode = 7
	resourceExhausted  GRPCCode = 8
	failedPrecondition GRPCCode = 9
	aborted            GRPCCode = 10
	outOfRange         GRPCCode = 11
	unimplemented      GRPCCode = 12
	internal           GRPCCode = 13
	unavailable        GRPCCode = 14
	unauthenticated    GRPCCode = 16
)

// Row is what both transports make of an error.
type Row struct {
	Status int      // HTTP status
	GRPC   GRPCCode // gRPC code
	Code   string   // for errors that have none of their own
}

// byKind has a row for every kind of fault.
var byKind = map[fault.Kind]Row{
	fault.Internal:         {http.StatusInternalServerError, internal, "INTERNAL_ERROR"},
	fault.Invalid:          {http.StatusBadRequest, invalidArgument, "INVALID_REQUEST"},
	fault.Unauthenticated:  {http.StatusUnauthorized, unauthenticated, "UNAUTHORIZED"},
	fault.Forbidden:        {http.StatusForbidden, permissionDenied, "FORBIDDEN"},
	fault.NotFound:         {http.StatusNotFound, notFound, "NOT_FOUND"},
	fault.AlreadyExists:    {http.StatusConflict, alreadyExists, "ALREADY_EXISTS"},
	fault.Conflict:         {http.StatusConflict, failedPrecondition, "CONFLICT"},
	fault.TooLarge:         {http.StatusRequestEntityTooLarge, resourceExhausted, "BODY_TOO_LARGE"},
	fault.Unsupported:      {http.StatusUnsupportedMediaType, invalidArgument, "UNSUPPORTED_MEDIA_TYPE"},
	fault.TooMany:          {http.StatusTooManyRequests, resourceExhausted, "TOO_MANY_REQUESTS"},
	fault.Unavailable:      {http.StatusServiceUnavailable, unavailable, "UNAVAILABLE"},
	fault.BadGateway:       {http.StatusBadGateway, unavailable, "BAD_GATEWAY"},
	fault.Canceled:         {StatusClientClosed, canceled, "CANCELED"},
	fault.MethodNotAllowed: {http.StatusMethodNotAllowed, unimplemented, "METHOD_NOT_ALLOWED"},
}

// byCode has the codes that the service interface treats otherwise than their kind. A code that is
// answered with 500 and yet has a text for the caller is declared with another kind than Internal.
var byCode = map[string]Row{
	"INVALID_DRIVER":       {http.StatusBadRequest, notFound, ""},
	"ALREADY_ACKNOWLEDGED": {http.StatusConflict, alreadyExists, ""},
	"VERSION_CHANGED":      {http.StatusPreconditionFailed, aborted, ""},
	"MODEL_NOT_AVAILABLE":  {http.StatusInternalServerError, unavailable, ""},
	"TRAINING_FAILED":      {http.StatusInternalServerError, failedPrecondition, ""},
	"NOT_ACCEPTABLE":       {http.StatusNotAcceptable, invalidArgument, ""},
	"RANGE_NOT_SATISFIED":  {http.StatusRequestedRangeNotSatisfiable, outOfRange, ""},
	"MISDIRECTED_REQUEST":  {http.StatusMisdirectedRequest, permissionDenied, ""},
	"TOO_MANY_ALARMS":      {http.StatusInternalServerError, resourceExhausted, ""}, // senders of alerts repeat a post at 5xx only
	"WEBHOOK_RATE_LIMITED": {http.StatusInternalServerError, resourceExhausted, ""},
	"NOT_IMPLEMENTED":      {http.StatusNotImplemented, unimplemented, ""},
}

// Lookup returns the row of an error, with its own code where it has one.
func Lookup(err error) Row {
	f := FaultOf(err)
	row, ok := byCode[f.Code]
	if !ok {
		row = byKind[f.Kind]
	}
	if f.Code != "" {
		row.Code = f.Code
	}
	if f.Kind == fault.Canceled && errors.Is(err, context.DeadlineExceeded) {
		row.Status, row.GRPC = http.StatusGatewayTimeout, deadlineExceeded
	}
	return row
}

// FaultOf returns the fault of an error. The end of a context counts as Canceled also when a domain
// has wrapped it as a failure of its own, and whatever else has no fault is Internal.
func FaultOf(err error) *fault.Error {
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
