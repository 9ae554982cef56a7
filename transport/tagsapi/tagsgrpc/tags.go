package tagsgrpc

import (
	"context"
	"errors"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/otkit/otkit/fault"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Caller returns the name of who calls, for the log of writes. Default: "anonymous".
	Caller func(ctx context.Context) string
	// Live returns a context for a stream, which also ends when the server stops. Default: the call's context.
	Live func(ctx context.Context) (context.Context, context.CancelFunc)
}

// Service serves the calls of PlatformApi about tags. Errors are the domain's; an interceptor turns them
// into statuses.
type Service struct {
	engine *tags.Engine
	opts   Options
}

// New returns the calls over engine.
func New(engine *tags.Engine, o Options) (*Service, error) {
	if engine == nil {
		return nil, errors.New("tagsgrpc: engine is required")
	}
	if o.Caller == nil {
		o.Caller = func(context.Context) string { return "anonymous" }
	}
	if o.Live == nil {
		o.Live = context.WithCancel
	}
	return &Service{engine: engine, opts: o}, nil
}

// unimplemented is embedded one deeper than Service, whose methods hide its own.
type unimplemented struct {
	pb.UnimplementedPlatformApiServer
}

// Register registers PlatformApi with the calls about tags; the others are Unimplemented. A grpc.Server takes a
// service once: package platformgrpc registers both halves.
func (p *Service) Register(r grpc.ServiceRegistrar) {
	pb.RegisterPlatformApiServer(r, struct {
		unimplemented
		*Service
	}{Service: p})
}

// ReadTag implements PlatformApi.
func (p *Service) ReadTag(_ context.Context, r *pb.ReadTagRequest) (*pb.ReadTagResponse, error) {
	s, err := p.engine.Read(r.GetTagName())
	if err != nil {
		return nil, err
	}
	return &pb.ReadTagResponse{Tag: tagOf(s)}, nil
}

// ReadTags implements PlatformApi.
func (p *Service) ReadTags(_ context.Context, r *pb.ReadTagsRequest) (*pb.ReadTagsResponse, error) {
	found, errs, err := p.engine.ReadMany(r.GetTagNames())
	if err != nil {
		return nil, err
	}
	return &pb.ReadTagsResponse{Tags: tagsOf(found), Errors: batchErrors(errs)}, nil
}

// WriteTag implements PlatformApi.
func (p *Service) WriteTag(ctx context.Context, r *pb.WriteTagRequest) (*pb.WriteTagResponse, error) {
	name, err := p.engine.Resolve(r.GetDriverId(), r.GetAddress())
	if err != nil {
		return nil, err
	}
	w, err := p.engine.Write(ctx, tags.WriteRequest{Tag: name, Text: r.GetValue(), Confirm: r.GetConfirm(), By: p.opts.Caller(ctx)})
	if err != nil {
		return nil, err
	}
	return &pb.WriteTagResponse{Success: true, Message: "Write to " + name + " is queued", WriteId: w.ID}, nil
}

// WriteTags implements PlatformApi.
func (p *Service) WriteTags(ctx context.Context, r *pb.WriteTagsRequest) (*pb.WriteTagsResponse, error) {
	if len(r.GetWrites()) > tags.MaxBatch {
		return nil, tags.ErrBatchSizeExceeded
	}
	by := p.opts.Caller(ctx)
	requests := make([]tags.WriteRequest, 0, len(r.GetWrites()))
	var errs []error
	for _, item := range r.GetWrites() {
		v, err := valueFrom(item.GetValue())
		if err != nil {
			errs = append(errs, err.With("tagName", item.GetTagName()))
			continue
		}
		requests = append(requests, tags.WriteRequest{Tag: item.GetTagName(), Value: v, Confirm: item.GetConfirm(), By: by})
	}
	writes, refused, err := p.engine.WriteMany(ctx, requests)
	if err != nil {
		return nil, err
	}
	answer := &pb.WriteTagsResponse{}
	for i, err := range refused {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		answer.SuccessCount++
		answer.Writes = append(answer.Writes, &pb.QueuedWrite{TagName: writes[i].Tag, WriteId: writes[i].ID})
	}
	answer.Errors = batchErrors(errs)
	return answer, nil
}

// GetWrite implements PlatformApi.
func (p *Service) GetWrite(ctx context.Context, r *pb.GetWriteRequest) (*pb.GetWriteResponse, error) {
	w, err := p.engine.GetWrite(ctx, r.GetWriteId())
	if err != nil {
		return nil, err
	}
	return writeOf(w), nil
}

func writeOf(w tags.Write) *pb.GetWriteResponse {
	answer := &pb.GetWriteResponse{WriteId: w.ID, TagName: w.Tag, DriverId: w.Driver, Address: w.Address, Value: valueOf(w.Value),
		State: string(w.State), Error: w.Error, RequestedBy: w.By, QueuedAt: timestamppb.New(w.QueuedAt)}
	if !w.CompletedAt.IsZero() {
		answer.CompletedAt = timestamppb.New(w.CompletedAt)
	}
	return answer
}

// ListWrites implements PlatformApi.
func (p *Service) ListWrites(ctx context.Context, r *pb.ListWritesRequest) (*pb.ListWritesResponse, error) {
	q := tags.WriteListQuery{WriteFilter: tags.WriteFilter{Driver: r.GetDriverId(), Tag: r.GetTagName(), Address: r.GetAddress(), By: r.GetRequestedBy()},
		Page: int(r.GetPagination().GetPage()), PageSize: int(r.GetPagination().GetPageSize())}
	for _, state := range r.GetStates() {
		q.States = append(q.States, tags.WriteState(state))
	}
	if r.GetStart() != nil {
		q.Start = r.GetStart().AsTime()
	}
	if r.GetEnd() != nil {
		q.End = r.GetEnd().AsTime()
	}
	page, err := p.engine.ListWrites(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := &pb.ListWritesResponse{Writes: make([]*pb.GetWriteResponse, len(page.Writes)), TotalCount: int32(min(page.Total, math.MaxInt32))}
	for i, w := range page.Writes {
		answer.Writes[i] = writeOf(w)
	}
	return answer, nil
}

// GetTagList implements PlatformApi.
func (p *Service) GetTagList(_ context.Context, r *pb.GetTagListRequest) (*pb.GetTagListResponse, error) {
	list, total, err := p.engine.List(tags.ListQuery{Driver: r.GetDriverFilter(), Pattern: r.GetNamePattern(),
		Page: int(r.GetPagination().GetPage()), PageSize: int(r.GetPagination().GetPageSize())})
	if err != nil {
		return nil, err
	}
	return &pb.GetTagListResponse{Tags: tagsOf(list), TotalCount: int32(total)}, nil
}

// SubscribeTagChanges implements PlatformApi.
func (p *Service) SubscribeTagChanges(r *pb.SubscribeTagChangesRequest, stream grpc.ServerStreamingServer[pb.TagChangeNotification]) error {
	o := tags.SubscribeOptions{Names: r.GetTagNames(), Throttle: throttle(r.ThrottleMs)}
	return p.follow(stream.Context(), o, 1, func(changes []tags.Change) error {
		return stream.Send(changeOf(changes[0]))
	})
}

// StreamTagChanges implements PlatformApi.
func (p *Service) StreamTagChanges(r *pb.StreamTagChangesRequest, stream grpc.ServerStreamingServer[pb.StreamTagChangesResponse]) error {
	o := tags.SubscribeOptions{Names: r.GetTagNames(), Patterns: r.GetNamePatterns(), Throttle: throttle(r.ThrottleMs), Deadband: r.GetDeadband()}
	return p.follow(stream.Context(), o, maxPerMessage, func(changes []tags.Change) error {
		for len(changes) > 0 {
			n := fitting(changes)
			answer := &pb.StreamTagChangesResponse{Changes: make([]*pb.TagChangeNotification, n)}
			for i, c := range changes[:n] {
				answer.Changes[i] = changeOf(c)
			}
			if err := stream.Send(answer); err != nil {
				return err
			}
			changes = changes[n:]
		}
		return nil
	})
}

// A message is to stay under the 4 MiB that gRPC clients take by default: names have at most
// tags.MaxNameBytes, but a String or Bytes may have any length.
const (
	maxPerMessage = 5000
	maxText       = 2 << 20 // bytes of String and Bytes values in one message, unless a single one has more
)

// fitting returns how many of the changes fit into one message.
func fitting(changes []tags.Change) int {
	size := 0
	for i, c := range changes {
		if size += len(c.Value.Text()); size > maxText && i > 0 {
			return i
		}
	}
	return len(changes)
}

// throttle returns a request's throttle. If it is absent, it is 100 ms; 0 disables it.
func throttle(ms *int32) time.Duration {
	if ms == nil {
		return 100 * time.Millisecond
	}
	return time.Duration(*ms) * time.Millisecond
}

// follow sends a subscription's changes until the client leaves, its token ends or the engine stops.
func (p *Service) follow(ctx context.Context, o tags.SubscribeOptions, limit int, send func([]tags.Change) error) error {
	sub, err := p.engine.Subscribe(o)
	if err != nil {
		return err
	}
	defer sub.Close()
	ctx, cancel := p.opts.Live(ctx)
	defer cancel()
	for {
		changes, err := sub.Next(ctx, limit)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		if err := send(changes); err != nil {
			return err
		}
	}
}

func tagsOf(list []tags.Snapshot) []*pb.Tag {
	out := make([]*pb.Tag, len(list))
	for i := range list {
		out[i] = tagOf(list[i])
	}
	return out
}

func tagOf(s tags.Snapshot) *pb.Tag {
	return &pb.Tag{
		Name: s.Tag.Name, Driver: s.Tag.Driver, Address: s.Tag.Address, DataType: string(s.Tag.DataType),
		AccessMode: string(s.Tag.Access), LastUpdated: timestamppb.New(s.Sample.SourceTime),
		ReceivedAt: timestamppb.New(s.Sample.ServerTime), CurrentValue: valueOf(s.Sample.Value),
		Quality: s.Sample.Quality.String(), QualityReason: s.Sample.Reason.String(),
		Unit: s.Tag.Unit, Description: s.Tag.Description, MinValue: s.Tag.Min, MaxValue: s.Tag.Max,
	}
}

func changeOf(c tags.Change) *pb.TagChangeNotification {
	return &pb.TagChangeNotification{TagName: c.Tag.Name, NewValue: valueOf(c.Value),
		Timestamp: timestamppb.New(c.Time()), Quality: c.Quality.String(), QualityReason: c.Reason.String()}
}

func valueOf(v tags.Value) *pb.TagValue {
	switch v.Type() {
	case tags.Bool:
		return &pb.TagValue{Value: &pb.TagValue_BoolValue{BoolValue: v.Bool()}}
	case tags.Int:
		return &pb.TagValue{Value: &pb.TagValue_Int64Value{Int64Value: v.Int()}}
	case tags.Float:
		f, _ := v.Float()
		return &pb.TagValue{Value: &pb.TagValue_DoubleValue{DoubleValue: f}}
	case tags.String:
		return &pb.TagValue{Value: &pb.TagValue_StringValue{StringValue: v.Text()}}
	case tags.Bytes:
		return &pb.TagValue{Value: &pb.TagValue_BytesValue{BytesValue: v.Bytes()}}
	}
	return nil
}

func valueFrom(v *pb.TagValue) (tags.Value, *fault.Error) {
	switch x := v.GetValue().(type) {
	case *pb.TagValue_BoolValue:
		return tags.BoolValue(x.BoolValue), nil
	case *pb.TagValue_Int64Value:
		return tags.IntValue(x.Int64Value), nil
	case *pb.TagValue_DoubleValue:
		if f := tags.FloatValue(x.DoubleValue); !f.IsZero() {
			return f, nil
		}
		return tags.Value{}, tags.ErrInvalidValue.Because("double_value is not a finite number")
	case *pb.TagValue_StringValue:
		return tags.StringValue(x.StringValue), nil
	case *pb.TagValue_BytesValue:
		return tags.BytesValue(x.BytesValue), nil
	}
	return tags.Value{}, tags.ErrInvalidValue.Because("a TagValue has exactly one member")
}

// batchErrors turns errors of single items into the items of an answer. An error without a code is
// told as internal, without its text.
func batchErrors(errs []error) []*pb.BatchError {
	var out []*pb.BatchError
	for _, err := range errs {
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind == fault.Internal {
			f = fault.New(fault.Internal, "INTERNAL_ERROR", "the item could not be handled")
		}
		out = append(out, &pb.BatchError{Code: f.Code, Message: f.Message, Metadata: f.Metadata})
	}
	return out
}
