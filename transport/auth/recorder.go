package auth

import (
	"context"
	"net/http"
)

// Recorder records calls that may change something. The guard puts it around the handlers of every operation that is
// [Operation.Audited], behind the check of the caller.
type Recorder interface {
	// HTTP returns a handler that records the requests of an operation and calls next.
	HTTP(op Operation, next http.Handler) http.Handler
	// Unary records a call over gRPC and calls next.
	Unary(ctx context.Context, op Operation, req any, next func(context.Context, any) (any, error)) (any, error)
	// Denied records a call that was refused because the principal's role is too low. req is the request of a unary call over gRPC,
	// and nil over HTTP and of streams. It must not block.
	Denied(ctx context.Context, op Operation, p *Principal, req any, err error)
}
