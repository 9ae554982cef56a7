package problemgrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// overBoth sends an error through a real HTTP server and a real gRPC server.
type overBoth struct {
	err  error
	http *httptest.Server
	grpc grpc_health_v1.HealthClient
	log  *bytes.Buffer
	grpc_health_v1.UnimplementedHealthServer
}

func (o *overBoth) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return nil, Report(o.context(ctx), "Check", o.err)
}

func (o *overBoth) context(ctx context.Context) context.Context {
	return problem.WithTrace(ctx, "0123456789abcdef0123456789abcdef", slog.New(slog.NewTextHandler(o.log, nil)))
}

func newOverBoth(t *testing.T) *overBoth {
	o := &overBoth{log: &bytes.Buffer{}}
	o.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r.WithContext(o.context(r.Context())), o.err, problem.FamilyOf(r.URL.Path))
	}))
	t.Cleanup(o.http.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, o)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	o.grpc = grpc_health_v1.NewHealthClient(conn)
	return o
}

func (o *overBoth) get(t *testing.T, path string) (*http.Response, map[string]any) {
	resp, err := http.Get(o.http.URL + path)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body := map[string]any{}
	if err := json.NewDecoder(resp.Body).Decode(&body); resp.StatusCode != problem.StatusClientClosed {
		require.NoError(t, err)
	}
	return resp, body
}

func (o *overBoth) call(t *testing.T) (*status.Status, *errdetails.ErrorInfo) {
	_, err := o.grpc.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	s, ok := status.FromError(err)
	require.True(t, ok)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return s, info
		}
	}
	t.Fatalf("no ErrorInfo in %v", s)
	return nil, nil
}

func TestEveryKindOverBothTransports(t *testing.T) {
	want := map[fault.Kind]row{
		fault.Internal:         {500, codes.Internal, "X"},
		fault.Invalid:          {400, codes.InvalidArgument, "X"},
		fault.Unauthenticated:  {401, codes.Unauthenticated, "X"},
		fault.Forbidden:        {403, codes.PermissionDenied, "X"},
		fault.NotFound:         {404, codes.NotFound, "X"},
		fault.AlreadyExists:    {409, codes.AlreadyExists, "X"},
		fault.Conflict:         {409, codes.FailedPrecondition, "X"},
		fault.TooLarge:         {413, codes.ResourceExhausted, "X"},
		fault.Unsupported:      {415, codes.InvalidArgument, "X"},
		fault.TooMany:          {429, codes.ResourceExhausted, "X"},
		fault.Unavailable:      {503, codes.Unavailable, "X"},
		fault.BadGateway:       {502, codes.Unavailable, "X"},
		fault.Canceled:         {499, codes.Canceled, "X"},
		fault.MethodNotAllowed: {405, codes.Unimplemented, "X"},
	}
	o := newOverBoth(t)
	for _, kind := range fault.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			row, ok := want[kind]
			require.True(t, ok, "a new kind needs a row")
			o.err = fmt.Errorf("outer: %w", fault.New(kind, "X", "a text").Wrap(errors.New("SECRET")))
			o.checkRow(t, row)

			o.err = &fault.Error{Kind: kind, Message: "a text"}
			require.NotEmpty(t, problem.Lookup(o.err).Code, "every kind has a code of its own")
		})
	}
}

// row is a [problem.Row] with the name that gRPC has for its code.
type row struct {
	Status int
	GRPC   codes.Code
	Code   string
}

// checkRow asks both transports and both families for o.err.
func (o *overBoth) checkRow(t *testing.T, row row) {
	t.Helper()
	resp, body := o.get(t, "/api/v1/tags/a")
	require.Equal(t, row.Status, resp.StatusCode)
	if row.Status != problem.StatusClientClosed {
		require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
		require.Equal(t, row.Code, body["code"])
		require.EqualValues(t, row.Status, body["status"])
		require.Equal(t, "about:blank", body["type"])
		require.NotEmpty(t, body["title"])
		require.NotEmpty(t, body["detail"])
		require.NotContains(t, fmt.Sprint(body), "SECRET")

		aas, aasBody := o.get(t, "/api/v1/aas/a")
		require.Equal(t, row.Status, aas.StatusCode)
		require.Equal(t, "application/json", aas.Header.Get("Content-Type"))
		require.Equal(t, row.Code, aasBody["errorCode"])
		require.NotEmpty(t, aasBody["message"])
		require.NotContains(t, fmt.Sprint(aasBody), "SECRET")
	}
	s, info := o.call(t)
	require.Equal(t, row.GRPC, s.Code())
	require.Equal(t, row.Code, info.GetReason())
	require.Equal(t, "otkit", info.GetDomain())
	require.NotContains(t, s.Message(), "SECRET")
}

func TestCodesOfTheServiceInterface(t *testing.T) {
	tests := []struct {
		kind fault.Kind
		row  row
	}{
		{fault.NotFound, row{404, codes.NotFound, "TAG_NOT_FOUND"}},
		{fault.Invalid, row{400, codes.NotFound, "INVALID_DRIVER"}},
		{fault.Forbidden, row{403, codes.PermissionDenied, "READ_ONLY_TAG"}},
		{fault.Forbidden, row{403, codes.PermissionDenied, "FORBIDDEN"}},
		{fault.Invalid, row{400, codes.InvalidArgument, "INVALID_VALUE"}},
		{fault.Unavailable, row{503, codes.Unavailable, "DRIVER_OFFLINE"}},
		{fault.Unavailable, row{503, codes.Unavailable, "WRITE_QUEUE_FULL"}},
		{fault.Invalid, row{400, codes.InvalidArgument, "BATCH_SIZE_EXCEEDED"}},
		{fault.Invalid, row{400, codes.InvalidArgument, "PAGE_SIZE_EXCEEDED"}},
		{fault.AlreadyExists, row{409, codes.AlreadyExists, "ALREADY_ACKNOWLEDGED"}},
		{fault.Conflict, row{409, codes.AlreadyExists, "ALREADY_ACKNOWLEDGED"}},
		{fault.AlreadyExists, row{409, codes.AlreadyExists, "AAS_ALREADY_EXISTS"}},
		{fault.Unavailable, row{500, codes.Unavailable, "MODEL_NOT_AVAILABLE"}},
		{fault.Conflict, row{500, codes.FailedPrecondition, "TRAINING_FAILED"}},
		{fault.BadGateway, row{502, codes.Unavailable, "BRIDGE_CONNECTION_FAILED"}},
	}
	o := newOverBoth(t)
	for _, tt := range tests {
		t.Run(tt.row.Code, func(t *testing.T) {
			o.err = fault.New(tt.kind, tt.row.Code, "a text").Wrap(errors.New("SECRET"))
			o.checkRow(t, tt.row)
		})
	}
}

func TestInternalTextStaysInside(t *testing.T) {
	o := newOverBoth(t)
	for name, err := range map[string]error{
		"plain error": errors.New("SECRET at 10.0.0.1"),
		"fault": fault.New(fault.Internal, "", "SECRET at 10.0.0.1").On("file", "SECRET").
			Invalid(fault.Field{Field: "SECRET", Message: "SECRET"}),
	} {
		t.Run(name, func(t *testing.T) {
			o.err = err
			for _, path := range []string{"/api/v1/tags", "/api/v1/aas"} {
				o.log.Reset()
				resp, body := o.get(t, path)
				require.Equal(t, 500, resp.StatusCode)
				require.NotContains(t, fmt.Sprint(body), "SECRET")
				require.Equal(t, "0123456789abcdef0123456789abcdef", body["traceId"])
				require.Contains(t, o.log.String(), "SECRET at 10.0.0.1")
				require.Contains(t, o.log.String(), "traceId=0123456789abcdef0123456789abcdef")
			}
			o.log.Reset()
			s, info := o.call(t)
			require.Equal(t, codes.Internal, s.Code())
			require.NotContains(t, s.String(), "SECRET")
			require.Equal(t, "INTERNAL_ERROR", info.GetReason())
			require.Equal(t, map[string]string{"traceId": "0123456789abcdef0123456789abcdef"}, info.GetMetadata())
			require.Contains(t, o.log.String(), "SECRET at 10.0.0.1")
		})
	}
}

func TestEndOfContext(t *testing.T) {
	o := newOverBoth(t)
	wrapped := fault.New(fault.Internal, "STORE", "store failed")
	o.err = wrapped.Wrap(context.Canceled)
	o.checkRow(t, row{499, codes.Canceled, "CANCELED"})
	o.err = fmt.Errorf("read: %w", context.DeadlineExceeded)
	o.checkRow(t, row{504, codes.DeadlineExceeded, "CANCELED"})
	require.Empty(t, o.log.String(), "a client that has gone is no failure of the server")

	o.err = fault.New(fault.BadGateway, "PEER", "peer did not answer").Wrap(context.DeadlineExceeded)
	o.checkRow(t, row{502, codes.Unavailable, "PEER"})
}
