package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/otkit/otkit/engine"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/storage/sqlite"
)

// open returns an engine on the database in dir, and what closes both.
func open(t *testing.T, dir string) (*engine.Engine, func()) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, schemas()...)
	require.NoError(t, err)
	e, err := newEngine(t.Context(), dir, db)
	require.NoError(t, err)
	e.Start()
	return e, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, e.Close(ctx))
		require.NoError(t, db.Close(ctx))
	}
}

func TestRoutesAndLogin(t *testing.T) {
	dir := t.TempDir()
	e, closeAll := open(t, dir)
	handler := routes(e)
	call := func(method, path, key string) (int, string) {
		r := httptest.NewRequest(method, path, nil)
		r.RemoteAddr = "127.0.0.1:1" // has no privilege
		if key != "" {
			r.Header.Set("X-API-Key", key)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		method, path, key string
		status            int
		body              string
	}{
		{"GET", "/hello", "", http.StatusOK, "hello"},
		{"GET", "/plant/flow", "", http.StatusUnauthorized, "UNAUTHORIZED"},
		{"GET", "/plant/flow", "key-of-nobody", http.StatusUnauthorized, "UNAUTHORIZED"},
		{"GET", "/metrics", "", http.StatusUnauthorized, "a login is required here"},
		{"POST", "/plant/stop", "key-of-ann", http.StatusForbidden, "FORBIDDEN"},
		{"POST", "/plant/stop", "key-of-bob", http.StatusNoContent, ""},
		{"GET", "/api/v1/tags/pump.flow", "key-of-ann", http.StatusOK, `"pump.flow"`},
		{"GET", "/api/v1.0/alarms/active", "key-of-ann", http.StatusOK, "stopped by Bob"},
		{"GET", "/api/v1/audit?action=stopPlant", "key-of-eva", http.StatusOK, `"Bob"`},
		{"POST", "/api/v1/auth/login", "", http.StatusNotFound, "NOT_FOUND"},
	} {
		status, body := call(c.method, c.path, c.key)
		require.Equal(t, c.status, status, "%s %s: %s", c.method, c.path, body)
		require.Contains(t, body, c.body)
	}
	require.Eventually(t, func() bool {
		status, _ := call("GET", "/plant/flow", "key-of-ann")
		return status == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	closeAll()
	status, _ := call("GET", "/plant/flow", "key-of-ann")
	require.Equal(t, http.StatusServiceUnavailable, status)

	e, closeAll = open(t, dir) // the alarm is in the database
	defer closeAll()
	handler = routes(e)
	_, body := call("GET", "/api/v1.0/alarms/active", "key-of-ann")
	require.Contains(t, body, "stopped by Bob")
}

// The login is the same over gRPC, on a port of the engine's own.
func TestServe(t *testing.T) {
	e, closeAll := open(t, t.TempDir())
	defer closeAll()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- e.Serve(port) }()
	defer func() { require.NoError(t, e.Close(context.Background())); require.NoError(t, <-served) }()
	conn, err := grpc.NewClient(port.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	client := platformv1.NewPlatformApiClient(conn)
	_, err = client.GetTagList(t.Context(), &platformv1.GetTagListRequest{})
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "key-of-ann")
	_, err = client.GetTagList(ctx, &platformv1.GetTagListRequest{})
	require.Equal(t, codes.OK, status.Code(err))

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+port.Addr().String()+"/health/live", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func TestRun(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rpcPort, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx, port, rpcPort, t.TempDir()) }()
	answer, err := http.Get("http://" + port.Addr().String() + "/hello")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())

	conn, err := grpc.NewClient(rpcPort.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	flow := new(wrapperspb.DoubleValue)
	require.Equal(t, codes.Unauthenticated, status.Code(conn.Invoke(t.Context(), getFlowMethod, new(emptypb.Empty), flow)))
	asAnn := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "key-of-ann")
	require.Eventually(t, func() bool { return conn.Invoke(asAnn, getFlowMethod, new(emptypb.Empty), flow) == nil }, time.Minute, 10*time.Millisecond)
	require.NotZero(t, flow.GetValue())
	cancel()
	require.NoError(t, <-stopped)
}
