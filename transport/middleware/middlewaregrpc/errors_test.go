package middlewaregrpc

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/remote"
)

type fakeStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (f fakeStream) Context() context.Context { return f.ctx }

func jsonLog() (*slog.Logger, *bytes.Buffer) {
	var buf bytes.Buffer
	return slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug})), &buf
}

func TestErrors(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	log, out := jsonLog()
	o := middleware.TraceOptions{Logger: log}
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("traceparent", "00-"+id+"-00f067aa0ba902b7-01"))
	fail := map[string]func(context.Context) error{
		"OK":       func(context.Context) error { return nil },
		"NotFound": func(context.Context) error { return problem.ErrNotFound },
		"Internal": func(ctx context.Context) error {
			require.Equal(t, id, problem.TraceID(ctx))
			panic("SECRET")
		},
	}
	for code, handler := range fail {
		_, unary := UnaryErrors(o)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/B"},
			func(ctx context.Context, _ any) (any, error) { return nil, handler(ctx) })
		stream := StreamErrors(o)(nil, fakeStream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/a/C"},
			func(_ any, s grpc.ServerStream) error { return handler(s.Context()) })
		for _, err := range []error{unary, stream} {
			require.Equal(t, code, status.Code(err).String())
			require.NotContains(t, status.Convert(err).String(), "SECRET")
			if status.Code(err) == codes.Internal {
				require.Contains(t, status.Convert(err).Proto().String(), id)
			}
		}
	}
	require.Equal(t, 2, strings.Count(out.String(), "SECRET"))
	require.Contains(t, out.String(), id)
	require.Contains(t, out.String(), "/a/C")
}

// The line of a gRPC call has the address of the caller, also behind a proxy, as that of a request has.
func TestLineNamesTheCaller(t *testing.T) {
	proxy := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 4711}
	for want, caller := range map[string]string{"10.0.0.1:4711": "10.0.0.1", "192.0.2.7": "192.0.2.7"} {
		log, out := jsonLog()
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: proxy})
		ctx = remote.With(ctx, remote.Caller{Addr: netip.MustParseAddr(caller), Known: true})
		_, err := UnaryErrors(middleware.TraceOptions{Logger: log, Access: true})(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/B"},
			func(context.Context, any) (any, error) { return nil, nil })
		require.NoError(t, err)
		require.Contains(t, out.String(), `"remote":"`+want+`"`)
	}
}
