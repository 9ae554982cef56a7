package middlewaregrpc

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/internal/logging"
	"github.com/otkit/otkit/transport/internal/call"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/problem/problemgrpc"
	"github.com/otkit/otkit/transport/remote"
)

// UnaryErrors does for gRPC calls what middleware.Trace, middleware.Recover and problem.Write do for HTTP: a trace id in the
// context, panics and errors turned into a status, failures of the server logged. It is to be the
// first interceptor but for the one that counts.
func UnaryErrors(o middleware.TraceOptions) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		ctx = withGRPCTrace(ctx, o)
		began := time.Now()
		defer func() {
			err = settle(ctx, info.FullMethod, recover(), err)
			logCall(ctx, o, info.FullMethod, began, err)
		}()
		return handler(ctx, req)
	}
}

// StreamErrors is UnaryErrors for streams.
func StreamErrors(o middleware.TraceOptions) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		ctx := withGRPCTrace(stream.Context(), o)
		began := time.Now()
		defer func() {
			err = settle(ctx, info.FullMethod, recover(), err)
			logCall(ctx, o, info.FullMethod, began, err)
		}()
		return handler(srv, tracedStream{stream, ctx})
	}
}

type tracedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s tracedStream) Context() context.Context { return s.ctx }

func withGRPCTrace(ctx context.Context, o middleware.TraceOptions) context.Context {
	traceparent := ""
	var values []string
	if c := call.Of(ctx); c != nil && c.Metadata != nil {
		values = c.Metadata["traceparent"]
	} else {
		values = metadata.ValueFromIncomingContext(ctx, "traceparent")
	}
	if len(values) == 1 {
		traceparent = values[0]
	}
	return o.Context(ctx, traceparent)
}

// logCall writes the line of a call that is done: at level Debug for probes, else Info.
func logCall(ctx context.Context, o middleware.TraceOptions, method string, began time.Time, err error) {
	if !o.Access || o.Logger == nil {
		return
	}
	level := slog.LevelInfo
	if strings.HasPrefix(method, "/grpc.") { // health and reflection
		level = slog.LevelDebug
	}
	if !o.Logger.Enabled(ctx, level) {
		return
	}
	from := ""
	if p, ok := peer.FromContext(ctx); ok {
		from = remote.Shown(ctx, p.Addr)
	}
	logging.Request{Method: "gRPC", Path: method, Code: status.Code(err).String(), Began: began, Ended: time.Now(), Remote: from,
		Subject: problem.Subject(ctx), TraceID: problem.TraceID(ctx)}.Log(ctx, o.Logger, level)
}

// settle returns the status of a call that returned err or, when panicked is not nil, panicked.
func settle(ctx context.Context, method string, panicked any, err error) error {
	if panicked != nil {
		err = middleware.PanicError(panicked)
	}
	return problemgrpc.Report(ctx, method, err)
}
