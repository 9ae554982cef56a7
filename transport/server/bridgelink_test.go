package server_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgelink"
	"github.com/otkit/otkit/transport/server"
)

// plant knows bridges by their key.
type plant struct{ linked.Bindings }

func (plant) OpenLink(_ context.Context, h link.Hello) (linked.Grant, error) {
	if h.Key != "SECRET-"+h.BridgeID {
		return linked.Grant{}, link.ErrRefused
	}
	return linked.Grant{EngineID: "engine-1"}, nil
}
func (plant) ConfirmKey(context.Context, string) error        { return nil }
func (plant) LinkChanged(context.Context, string, bool) error { return nil }

// Bridges need no login and share an address with people: their links do not count among the people's streams. They end when the
// server stops, and the log has no key.
func TestLinksOfBridges(t *testing.T) {
	t.Parallel()
	hub, err := linked.New(plant{}, linked.Options{})
	require.NoError(t, err)
	links, err := bridgelink.NewServer(hub)
	require.NoError(t, err)
	logger, log := logTo(t)
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader), Listen: "127.0.0.1:0", MaxStreams: 2,
		AccessLog: true, Logger: logger, MaxBodyBytes: 1 << 20},
		server.Part{Name: "discovery", Operations: bridgelink.Operations(), GRPC: func(r grpc.ServiceRegistrar) error { links.Register(r); return nil },
			EndStreams: hub.Close})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	s.Start()

	open := func(id, key string) (link.BridgeConn, error) {
		c, err := bridgelink.Dial(t.Context(), bridgelink.DialOptions{URL: "http://" + s.Addr().String()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		require.NoError(t, c.Send(link.FromBridge{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: id, Key: key, Epoch: "e"}}))
		_, err = c.Recv()
		return c, err
	}
	_, err = open("press", "SECRET-guess")
	require.ErrorIs(t, err, link.ErrRefused)
	conns := make([]link.BridgeConn, 50)
	for i := range conns {
		id := strconv.Itoa(i)
		conns[i], err = open(id, "SECRET-"+id)
		require.NoError(t, err)
	}

	conn, err := grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	for i := range 3 { // streams that count among the people's
		stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
		_, err = stream.Recv()
		if i < 2 {
			require.NoError(t, err)
		} else {
			requireStatus(t, err, codes.ResourceExhausted, "TOO_MANY_STREAMS")
		}
	}

	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	for _, c := range conns {
		err = nil
		for err == nil { // what was sent before, such as that the engine is there
			_, err = c.Recv()
		}
		require.ErrorIs(t, err, link.ErrEnded)
	}
	require.NoError(t, <-closed)
	require.Contains(t, log.String(), "/platform.v1.BridgeLink/Connect")
	require.NotContains(t, log.String(), "SECRET")
}
