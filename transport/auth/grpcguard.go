package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/otkit/otkit/transport/internal/call"
)

// Unary is the interceptor of unary calls. It returns fault errors; an interceptor outside of it
// turns them into statuses.
func (g *Guard) Unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		ctx, err := g.admitGRPC(ctx, info.FullMethod, req)
		if err != nil {
			return nil, err
		}
		if op := g.table.grpc[info.FullMethod]; g.opts.Recorder != nil && op.Audited() {
			return g.opts.Recorder.Unary(ctx, op, req, handler)
		}
		return handler(ctx, req)
	}
}

// Stream is the interceptor of streams. A stream's context is that of [Lifetime]: it ends when the
// token or its session does, and the stream then ends with [ErrUnauthenticated].
// A handler that waits in RecvMsg must watch the context as well.
func (g *Guard) Stream() grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, err := g.admitGRPC(stream.Context(), info.FullMethod, nil)
		if err != nil {
			return err
		}
		ctx, stop := Lifetime(ctx)
		defer stop()
		err = handler(srv, &guardedStream{ServerStream: stream, ctx: ctx})
		if cause := context.Cause(ctx); errors.Is(cause, ErrUnauthenticated) {
			return cause
		}
		return err
	}
}

// Covers checks the methods of a gRPC server. [Guard.Err] becomes an error if one has no row in the table, or if a
// stream is audited: what changes over a stream is not recorded, so it needs a reason in Unaudited or a unary method.
// Calls to a method without a row are refused.
func (g *Guard) Covers(services map[string]grpc.ServiceInfo) {
	for service, info := range services {
		for _, method := range info.Methods {
			full := "/" + service + "/" + method.Name
			g.serves(full)
			switch op, ok := g.table.grpc[full]; {
			case !ok:
				g.refuse(fmt.Errorf("auth: %s has no row in the table of operations", full))
			case (method.IsClientStream || method.IsServerStream) && op.Audited():
				g.refuse(fmt.Errorf("auth: operation %q: the stream %s may change something, and streams are not recorded: use a unary method, or set Unaudited", op.ID, full))
			}
		}
	}
}

func (g *Guard) admitGRPC(ctx context.Context, method string, req any) (context.Context, error) {
	op, ok := g.table.grpc[method]
	if !ok {
		return ctx, ErrUndeclared.Wrap(fmt.Errorf("%s has no row in the table of operations", method))
	}
	return g.admit(ctx, op, grpcCaller{ctx, req})
}

type grpcCaller struct {
	ctx context.Context
	req any // nil of a stream
}

// Token implements Request.
func (c grpcCaller) Token() (string, bool) { return bearer(c.Header("authorization")) }

// Header implements Request.
func (c grpcCaller) Header(name string) []string {
	if own := call.Of(c.ctx); own != nil && own.Metadata != nil {
		return own.Metadata[strings.ToLower(name)]
	}
	return metadata.ValueFromIncomingContext(c.ctx, name)
}

func (c grpcCaller) message() any { return c.req }

func (c grpcCaller) site() (host, origin string) {
	first := func(key string) string {
		if values := c.Header(key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	return first(":authority"), first("origin")
}

type guardedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *guardedStream) Context() context.Context { return s.ctx }
