package server_test

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// requireStatus checks a gRPC error and its ErrorInfo, and gives the info.
func requireStatus(t testing.TB, err error, code codes.Code, reason string) *errdetails.ErrorInfo {
	t.Helper()
	require.Error(t, err)
	s := status.Convert(err)
	require.Equal(t, code, s.Code(), "%v", err)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			require.Equal(t, reason, info.GetReason(), "%v", err)
			require.Equal(t, "otkit", info.GetDomain())
			return info
		}
	}
	require.Fail(t, "no ErrorInfo", "%v", err)
	return nil
}

func requireNotRefused(t testing.TB, err error, method string, role accounts.Role) {
	t.Helper()
	require.NotContains(t, []codes.Code{codes.Unauthenticated, codes.PermissionDenied, codes.Internal, codes.Unknown, codes.Unimplemented},
		status.Code(noEOF(err)), "%s as %q: %v", method, role, err)
}

// noEOF takes the end of a stream for success.
func noEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // as grpc gives it
		return nil
	}
	return err
}

func TestGRPCReadsATagMemberByMember(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Viewer)
	r, err := api.ReadTag(ctx, &pb.ReadTagRequest{TagName: "line.level"})
	require.NoError(t, err)
	tag := r.GetTag()
	require.Equal(t, "line.level", tag.GetName())
	require.Equal(t, "line", tag.GetDriver())
	require.Equal(t, "level", tag.GetAddress())
	require.Equal(t, "Float", tag.GetDataType())
	require.Equal(t, "ReadWrite", tag.GetAccessMode())
	require.Equal(t, "Good", tag.GetQuality())
	require.Empty(t, tag.GetQualityReason())
	require.Equal(t, "%", tag.GetUnit())
	require.Equal(t, "Tank level", tag.GetDescription())
	require.Zero(t, tag.GetMinValue())
	require.NotNil(t, tag.MinValue)
	require.InDelta(t, 100, tag.GetMaxValue(), 0)
	require.InDelta(t, 21.5, tag.GetCurrentValue().GetDoubleValue(), 0)
	require.WithinDuration(t, time.Now(), tag.GetLastUpdated().AsTime(), time.Minute)
	require.WithinDuration(t, time.Now(), tag.GetReceivedAt().AsTime(), time.Minute)

	_, err = api.ReadTag(ctx, &pb.ReadTagRequest{TagName: "line.absent"})
	require.Equal(t, map[string]string{"tagName": "line.absent"}, requireStatus(t, err, codes.NotFound, "TAG_NOT_FOUND").GetMetadata())
}

func TestGRPCReadsEveryTypeInOneBatch(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Viewer)
	r, err := api.ReadTags(ctx, &pb.ReadTagsRequest{TagNames: []string{"line.flag", "line.count", "line.note", "line.image", "line.empty", "line.absent"}})
	require.NoError(t, err)
	require.Len(t, r.GetTags(), 5)
	require.IsType(t, &pb.TagValue_BoolValue{}, r.GetTags()[0].GetCurrentValue().GetValue())
	require.Equal(t, int64(math.MaxInt64-1), r.GetTags()[1].GetCurrentValue().GetInt64Value())
	require.Equal(t, `häßlich "quoted" <b>`, r.GetTags()[2].GetCurrentValue().GetStringValue())
	require.Equal(t, []byte{0, 0xff, 0x10}, r.GetTags()[3].GetCurrentValue().GetBytesValue())
	require.Nil(t, r.GetTags()[4].GetCurrentValue())
	require.Equal(t, "Bad", r.GetTags()[4].GetQuality())
	require.Len(t, r.GetErrors(), 1)
	require.Equal(t, "TAG_NOT_FOUND", r.GetErrors()[0].GetCode())
	require.Equal(t, map[string]string{"tagName": "line.absent"}, r.GetErrors()[0].GetMetadata())

	r, err = api.ReadTags(ctx, &pb.ReadTagsRequest{})
	require.NoError(t, err)
	require.Empty(t, r.GetTags())
	_, err = api.ReadTags(ctx, &pb.ReadTagsRequest{TagNames: make([]string, 501)})
	requireStatus(t, err, codes.InvalidArgument, "BATCH_SIZE_EXCEEDED")
}

func TestGRPCRefusesWritesWithTheReasonOfTheInterface(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Admin)
	for _, c := range []struct {
		driver, address, value string
		code                   codes.Code
		reason                 string
	}{
		{"nowhere", "x", "1", codes.NotFound, "INVALID_DRIVER"},
		{"line", "absent", "1", codes.NotFound, "TAG_NOT_FOUND"},
		{"line", "fixed", "1", codes.PermissionDenied, "READ_ONLY_TAG"},
		{"line", "level", "x", codes.InvalidArgument, "INVALID_VALUE"},
		{"line", "level", "NaN", codes.InvalidArgument, "INVALID_VALUE"},
		{"line", "level", "100.1", codes.InvalidArgument, "INVALID_VALUE"},
		{"line", "count", "9223372036854775808", codes.InvalidArgument, "INVALID_VALUE"},
		{"away", "valve", "true", codes.Unavailable, "DRIVER_OFFLINE"},
	} {
		_, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: c.driver, Address: c.address, Value: c.value})
		requireStatus(t, err, c.code, c.reason)
	}
	require.Empty(t, p.line.writes())

	r, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: "count", Value: "-9223372036854775808", Confirm: true})
	require.NoError(t, err)
	require.True(t, r.GetSuccess())
	require.Contains(t, r.GetMessage(), "queued")
	w := p.awaitWrite(r.GetWriteId())
	require.Equal(t, "Confirmed", w.GetState())
	require.Equal(t, "line.count", w.GetTagName())
	require.Equal(t, "admin", w.GetRequestedBy())
	require.Equal(t, int64(math.MinInt64), w.GetValue().GetInt64Value())
	require.False(t, w.GetCompletedAt().AsTime().Before(w.GetQueuedAt().AsTime()))

	_, err = api.GetWrite(ctx, &pb.GetWriteRequest{WriteId: "absent"})
	requireStatus(t, err, codes.NotFound, "WRITE_NOT_FOUND")
}

// awaitWrite waits for the outcome of a write.
func (p *platform) awaitWrite(id string) *pb.GetWriteResponse {
	p.t.Helper()
	api, ctx := p.rpc(accounts.Viewer)
	var w *pb.GetWriteResponse
	require.Eventually(p.t, func() bool {
		var err error
		w, err = api.GetWrite(ctx, &pb.GetWriteRequest{WriteId: id})
		return err == nil && w.GetState() != string(tags.WriteQueued)
	}, patience, time.Millisecond)
	return w
}

func TestGRPCListsWrites(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Admin)
	var want []*pb.GetWriteResponse
	for _, address := range []string{"count", "level", "count"} {
		w, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: address, Value: "7"})
		require.NoError(t, err)
		want = slices.Insert(want, 0, p.awaitWrite(w.GetWriteId()))
	}
	requireWrites := func(r *pb.ListWritesRequest, total int32, want ...*pb.GetWriteResponse) {
		t.Helper()
		got, err := api.ListWrites(ctx, r)
		require.NoError(t, err)
		require.Equal(t, total, got.GetTotalCount())
		require.Len(t, got.GetWrites(), len(want))
		for i := range want {
			require.True(t, proto.Equal(want[i], got.GetWrites()[i]), "%v, not %v", got.GetWrites()[i], want[i])
		}
	}
	requireWrites(&pb.ListWritesRequest{}, 3, want...)
	requireWrites(&pb.ListWritesRequest{DriverId: "line", Address: "COUNT", RequestedBy: "admin", States: []string{"Written", "Failed"}, Start: want[2].GetQueuedAt()}, 2, want[0], want[2])
	requireWrites(&pb.ListWritesRequest{TagName: "line.level", End: want[1].GetQueuedAt()}, 0)
	requireWrites(&pb.ListWritesRequest{Pagination: &pb.PaginationRequest{Page: 2, PageSize: 2}}, 3, want[2])
	requireWrites(&pb.ListWritesRequest{Pagination: &pb.PaginationRequest{Page: math.MaxInt32, PageSize: 1000}}, 3)
	for _, c := range []struct {
		request *pb.ListWritesRequest
		reason  string
	}{
		{&pb.ListWritesRequest{States: []string{"Done"}}, "INVALID_REQUEST"},
		{&pb.ListWritesRequest{Pagination: &pb.PaginationRequest{Page: -1}}, "INVALID_REQUEST"},
		{&pb.ListWritesRequest{Pagination: &pb.PaginationRequest{PageSize: 1001}}, "PAGE_SIZE_EXCEEDED"},
		{&pb.ListWritesRequest{Start: want[0].GetQueuedAt(), End: want[0].GetQueuedAt()}, "INVALID_TIME_RANGE"},
	} {
		_, err := api.ListWrites(ctx, c.request)
		requireStatus(t, err, codes.InvalidArgument, c.reason)
	}
}

func TestGRPCBatchWritesWhatItCan(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Admin)
	number := &pb.TagValue{Value: &pb.TagValue_Int64Value{Int64Value: 5}}
	r, err := api.WriteTags(ctx, &pb.WriteTagsRequest{Writes: []*pb.TagWriteItem{
		{TagName: "line.count", Value: number},
		{TagName: "line.level", Value: &pb.TagValue{Value: &pb.TagValue_DoubleValue{DoubleValue: math.NaN()}}},
		{TagName: "line.flag"},
		{TagName: "line.fixed", Value: number},
		{TagName: "line.absent", Value: number},
		{TagName: "line.note", Value: number},
		{TagName: "line.note", Value: &pb.TagValue{Value: &pb.TagValue_StringValue{StringValue: "ok"}}},
	}})
	require.NoError(t, err)
	require.Equal(t, int32(2), r.GetSuccessCount())
	got := map[string]string{}
	for _, e := range r.GetErrors() {
		got[e.GetMetadata()["tagName"]] = e.GetCode()
	}
	require.Equal(t, map[string]string{"line.level": "INVALID_VALUE", "line.flag": "INVALID_VALUE", "line.fixed": "READ_ONLY_TAG",
		"line.absent": "TAG_NOT_FOUND", "line.note": "INVALID_VALUE"}, got)
	require.Len(t, r.GetWrites(), 2)
	require.Equal(t, "line.count", r.GetWrites()[0].GetTagName())
	require.Equal(t, "Written", p.awaitWrite(r.GetWrites()[1].GetWriteId()).GetState())

	_, err = api.WriteTags(ctx, &pb.WriteTagsRequest{Writes: make([]*pb.TagWriteItem, 501)})
	requireStatus(t, err, codes.InvalidArgument, "BATCH_SIZE_EXCEEDED")
}

func TestGRPCListTakesPageZeroForTheDefault(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Viewer)
	all, err := api.GetTagList(ctx, &pb.GetTagListRequest{})
	require.NoError(t, err)
	require.Len(t, all.GetTags(), min(50, int(all.GetTotalCount())))
	some, err := api.GetTagList(ctx, &pb.GetTagListRequest{DriverFilter: "line", NamePattern: `LINE.%`, Pagination: &pb.PaginationRequest{Page: 2, PageSize: 4}})
	require.NoError(t, err)
	require.Equal(t, int32(9), some.GetTotalCount())
	require.Len(t, some.GetTags(), 4)

	for _, c := range []struct {
		page   *pb.PaginationRequest
		reason string
	}{
		{&pb.PaginationRequest{Page: -1}, "INVALID_REQUEST"},
		{&pb.PaginationRequest{PageSize: -1}, "INVALID_REQUEST"},
		{&pb.PaginationRequest{PageSize: 501}, "PAGE_SIZE_EXCEEDED"},
	} {
		_, err := api.GetTagList(ctx, &pb.GetTagListRequest{Pagination: c.page})
		requireStatus(t, err, codes.InvalidArgument, c.reason)
	}
	_, err = api.GetTagList(ctx, &pb.GetTagListRequest{Pagination: &pb.PaginationRequest{Page: math.MaxInt32, PageSize: 500}})
	require.NoError(t, err)
}

func TestGRPCReflectionAndHealth(t *testing.T) {
	t.Parallel()
	p := start(t)
	conn := p.conn()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	answer, err := stream.Recv()
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	var services []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		services = append(services, s.GetName())
	}
	require.Subset(t, services, []string{"platform.v1.PlatformApi", "grpc.health.v1.Health"})

	require.Eventually(t, func() bool {
		for _, service := range []string{"", "platform.v1.PlatformApi"} {
			r, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond)
}

func TestGRPCMessagesHaveALimit(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.MaxBodyBytes = 10_000 })
	api, ctx := p.rpc(accounts.Admin)
	_, err := api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: "note", Value: strings.Repeat("x", 9_000)})
	require.NoError(t, err)
	_, err = api.WriteTag(ctx, &pb.WriteTagRequest{DriverId: "line", Address: "note", Value: strings.Repeat("x", 11_000)}, grpc.MaxCallSendMsgSize(1<<20))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
}
