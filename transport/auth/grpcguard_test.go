package auth_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
)

// The health service stands in for any service here: it has a unary call and a server stream.
const check, watch, list = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", "/grpc.health.v1.Health/List"

func toStatus(err error) error {
	switch {
	case err == nil:
		return nil
	case status.Code(err) != codes.Unknown:
		return err
	}
	code := map[fault.Kind]codes.Code{fault.Unauthenticated: codes.Unauthenticated, fault.Forbidden: codes.PermissionDenied}[fault.KindOf(err)]
	if code == codes.OK {
		code = codes.Internal
	}
	return status.Error(code, err.Error())
}

func serveGRPC(t *testing.T, g *auth.Guard) healthpb.HealthClient {
	t.Helper()
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			resp, err := h(ctx, req)
			return resp, toStatus(err)
		}, g.Unary()),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			return toStatus(h(srv, s))
		}, g.Stream()),
	)
	healthpb.RegisterHealthServer(server, health.NewServer())
	g.Covers(server.GetServiceInfo())
	l := bufconn.Listen(1 << 16)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		<-done
	})
	return healthpb.NewHealthClient(conn)
}

func with(t *testing.T, values ...string) context.Context {
	t.Helper()
	ctx := t.Context()
	for _, v := range values {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", v)
	}
	return ctx
}

func TestRolesOverGRPC(t *testing.T) {
	p := newPlant(t, auth.Options{})
	g := p.guard(t, auth.GuardOptions{},
		auth.Operation{ID: "check", GRPC: []string{check}, Access: auth.Operator},
		auth.Operation{ID: "watch", GRPC: []string{watch}, Access: auth.Admin})
	client := serveGRPC(t, g)
	require.ErrorContains(t, g.Err(), list, "a method without a row shows at the start")
	_, err := client.List(with(t, "Bearer "+p.login(t, "admin").AccessToken), &healthpb.HealthListRequest{})
	require.Equal(t, codes.Internal, status.Code(err), "and is closed to everyone")

	operator := p.login(t, "operator").AccessToken
	for name, row := range map[string]struct {
		sent []string
		want codes.Code
	}{
		"no token":   {nil, codes.Unauthenticated},
		"no scheme":  {[]string{operator}, codes.Unauthenticated},
		"two tokens": {[]string{"Bearer " + operator, "Bearer " + operator}, codes.Unauthenticated},
		"viewer":     {[]string{"Bearer " + p.login(t, "viewer").AccessToken}, codes.PermissionDenied},
		"operator":   {[]string{"bearer " + operator}, codes.OK},
		"admin":      {[]string{"Bearer " + p.login(t, "admin").AccessToken}, codes.OK},
	} {
		_, err := client.Check(with(t, row.sent...), &healthpb.HealthCheckRequest{})
		require.Equal(t, row.want, status.Code(err), name)
	}
	stream, err := client.Watch(with(t, "Bearer "+operator), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.PermissionDenied, status.Code(err))
}

// Streams are not recorded in the audit log, so a server with one that may change something does not start.
func TestStreamsThatChangeSomethingAreRefused(t *testing.T) {
	p := newPlant(t, auth.Options{})
	for name, row := range map[string]struct {
		op      auth.Operation
		refused bool
	}{
		"gRPC alone":   {auth.Operation{ID: "watch", GRPC: []string{watch}, Access: auth.Admin}, true},
		"with a POST":  {auth.Operation{ID: "watch", Method: "POST", Path: "/watch", GRPC: []string{watch}, Access: auth.Admin}, true},
		"with a GET":   {auth.Operation{ID: "watch", Method: "GET", Path: "/watch", GRPC: []string{watch}, Access: auth.Admin}, false},
		"with a cause": {auth.Operation{ID: "watch", GRPC: []string{watch}, Access: auth.Admin, Unaudited: "reads only"}, false},
	} {
		g := p.guard(t, auth.GuardOptions{}, row.op, auth.Operation{ID: "unary", GRPC: []string{check, list}, Access: auth.Admin})
		serveGRPC(t, g)
		if row.refused {
			require.ErrorContains(t, g.Err(), watch, name)
		} else {
			require.NoError(t, g.Err(), name)
		}
	}
}

func TestStreamEndsWithItsSession(t *testing.T) {
	p := newPlant(t, auth.Options{})
	client := serveGRPC(t, p.guard(t, auth.GuardOptions{},
		auth.Operation{ID: "all", GRPC: []string{check, watch, list}, Access: auth.Viewer}))
	token := p.login(t, "viewer").AccessToken
	stream, err := client.Watch(with(t, "Bearer "+token), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.NoError(t, p.Logout(auth.WithPrincipal(t.Context(), p.requireGood(t, token))))
	_, err = stream.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
}
