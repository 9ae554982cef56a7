package middleware

import (
	"context"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/transport/problem"
)

// UnaryErrors does for gRPC calls what Trace, Recover and problem.Write do for HTTP: a trace id in the
// context, panics and errors turned into a status, failures of the server logged. It is to be the
// first interceptor but for the one that counts.
func UnaryErrors(o TraceOptions) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		ctx = withGRPCTrace(ctx, o)
		defer func() { err = settle(ctx, info.FullMethod, recover(), err) }()
		return handler(ctx, req)
	}
}

// StreamErrors is UnaryErrors for streams.
func StreamErrors(o TraceOptions) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		ctx := withGRPCTrace(stream.Context(), o)
		defer func() { err = settle(ctx, info.FullMethod, recover(), err) }()
		return handler(srv, tracedStream{stream, ctx})
	}
}

type tracedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s tracedStream) Context() context.Context { return s.ctx }

func withGRPCTrace(ctx context.Context, o TraceOptions) context.Context {
	traceparent := ""
	if values := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(values) == 1 {
		traceparent = values[0]
	}
	id := traceID(ctx, traceparent)
	switch {
	case id != "":
	case o.NewID != nil:
		id = o.NewID()
	default:
		id = problem.NewTraceID()
	}
	return problem.WithTrace(ctx, id, o.Logger)
}

// settle gives the status of a call that returned err or, when panicked is not nil, panicked.
func settle(ctx context.Context, method string, panicked any, err error) error {
	if panicked != nil {
		err = panicError{panicked, debug.Stack()}
	}
	return problem.GRPCReport(ctx, method, err)
}
