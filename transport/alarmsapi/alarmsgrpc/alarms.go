package alarmsgrpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Caller returns the name of the account that makes a call. Default: "anonymous".
	Caller func(ctx context.Context) string
	// Live returns a context for a stream, which also ends when the server stops. Default: the call's context.
	Live func(ctx context.Context) (context.Context, context.CancelFunc)
}

// Service implements the methods of PlatformApi for alarms. It returns the errors of the domain; an interceptor converts
// them into statuses.
type Service struct {
	alarms *alarms.Service
	opts   Options
}

// New returns the methods for a service, which is required.
func New(service *alarms.Service, o Options) (*Service, error) {
	if service == nil {
		return nil, errors.New("alarmsgrpc: service is required")
	}
	if o.Caller == nil {
		o.Caller = func(context.Context) string { return "anonymous" }
	}
	if o.Live == nil {
		o.Live = context.WithCancel
	}
	return &Service{alarms: service, opts: o}, nil
}

// unimplemented is embedded one deeper than Service, whose methods hide its own.
type unimplemented struct {
	pb.UnimplementedPlatformApiServer
}

// Register registers PlatformApi with the calls about alarms; the others are Unimplemented. A grpc.Server takes a
// service once: package platformgrpc registers both halves.
func (p *Service) Register(r grpc.ServiceRegistrar) {
	pb.RegisterPlatformApiServer(r, struct {
		unimplemented
		*Service
	}{Service: p})
}

// GetAlarms implements PlatformApi.
func (p *Service) GetAlarms(ctx context.Context, r *pb.GetAlarmsRequest) (*pb.GetAlarmsResponse, error) {
	q, err := alarmQuery(r.GetSeverityFilter(), r.GetPagination())
	if err != nil {
		return nil, err
	}
	q.OnlyUnacknowledged, q.State = r.GetOnlyUnacknowledged(), alarms.ListState(r.GetState())
	q.Search = alarms.Search{Source: r.GetSource(), Text: r.GetText(), Labels: r.GetLabels()}
	page, err := p.alarms.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return &pb.GetAlarmsResponse{Alarms: alarmsOf(page.Occurrences), TotalCount: int32(page.Total)}, nil
}

// GetAlarmHistory implements PlatformApi.
func (p *Service) GetAlarmHistory(ctx context.Context, r *pb.GetAlarmHistoryRequest) (*pb.GetAlarmHistoryResponse, error) {
	start, end := r.GetTimeRange().GetStart(), r.GetTimeRange().GetEnd()
	if !start.IsValid() || !end.IsValid() {
		return nil, alarms.ErrInvalidTimeRange.Because("start and end are required")
	}
	q, err := alarmQuery(r.GetSeverityFilter(), r.GetPagination())
	if err != nil {
		return nil, err
	}
	q.State = alarms.ListState(r.GetState())
	q.Search = alarms.Search{Source: r.GetSource(), Text: r.GetText(), Labels: r.GetLabels()}
	page, err := p.alarms.History(ctx, start.AsTime(), end.AsTime(), q)
	if err != nil {
		return nil, err
	}
	return &pb.GetAlarmHistoryResponse{Alarms: alarmsOf(page.Occurrences), TotalCount: int32(page.Total)}, nil
}

// alarmQuery reads a filter and a page, whose members have a default if they are 0.
func alarmQuery(severity string, page *pb.PaginationRequest) (alarms.ListQuery, error) {
	set, err := alarms.ParseThreeLevel(severity)
	q := alarms.ListQuery{Severities: set, Page: int(page.GetPage()), PageSize: int(page.GetPageSize())}
	if q.Page == 0 {
		q.Page = 1
	}
	if q.PageSize == 0 {
		q.PageSize = 50
	}
	return q, err
}

// AcknowledgeAlarm implements PlatformApi.
func (p *Service) AcknowledgeAlarm(ctx context.Context, r *pb.AcknowledgeAlarmRequest) (*pb.AcknowledgeAlarmResponse, error) {
	if _, err := p.alarms.Acknowledge(ctx, alarms.ByID(r.GetAlarmId()), p.opts.Caller(ctx), r.GetComment()); err != nil {
		return nil, err
	}
	return &pb.AcknowledgeAlarmResponse{Success: true}, nil
}

// AcknowledgeAlarms implements PlatformApi.
func (p *Service) AcknowledgeAlarms(ctx context.Context, r *pb.AcknowledgeAlarmsRequest) (*pb.AcknowledgeAlarmsResponse, error) {
	results, err := p.alarms.AcknowledgeMany(ctx, r.GetAlarmIds(), p.opts.Caller(ctx), r.GetComment())
	if err != nil {
		return nil, err
	}
	answer := &pb.AcknowledgeAlarmsResponse{}
	for i, id := range r.GetAlarmIds() {
		if f, failed := fault.From(results[i]); failed {
			answer.Errors = append(answer.Errors, &pb.AcknowledgeError{AlarmId: id, Code: f.Code, Message: f.Message})
		} else {
			answer.Acknowledged = append(answer.Acknowledged, id)
		}
	}
	return answer, nil
}

// SubscribeAlarms implements PlatformApi.
func (p *Service) SubscribeAlarms(r *pb.SubscribeAlarmsRequest, stream grpc.ServerStreamingServer[pb.SubscribeAlarmsResponse]) error {
	set, err := alarms.ParseThreeLevel(r.GetSeverityFilter())
	if err != nil {
		return err
	}
	sub, err := p.alarms.Subscribe(alarms.SubscribeOptions{Severities: set, Changes: r.GetAllChanges()})
	if err != nil {
		return err
	}
	defer sub.Close()
	// The headers inform the client that it is subscribed: between a list that it requests now and the stream there is
	// no gap.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	ctx, cancel := p.opts.Live(stream.Context())
	defer cancel()
	for {
		events, err := sub.Next(ctx, 0)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		for i := range events {
			if !events[i].Shown() {
				continue
			}
			if err := stream.Send(&pb.SubscribeAlarmsResponse{Alarm: alarmOf(&events[i].Occurrence)}); err != nil {
				return err
			}
		}
	}
}

func alarmsOf(list []alarms.Occurrence) []*pb.AlarmInfo {
	out := make([]*pb.AlarmInfo, len(list))
	for i := range list {
		out[i] = alarmOf(&list[i])
	}
	return out
}

func alarmOf(o *alarms.Occurrence) *pb.AlarmInfo {
	info := &pb.AlarmInfo{Id: o.ID, Code: o.Code, Source: o.Source, Message: o.Message, Severity: o.Severity.ThreeLevel(),
		TriggeredAt: timestamppb.New(o.RaisedAt), AcknowledgedAt: stampOf(o.AcknowledgedAt), ClearedAt: stampOf(o.ClearedAt),
		IsActive: o.Active, Comment: o.Comment, Late: o.Late(),
		State: string(o.State()), TagName: o.Cause.Tag, RuleId: o.Cause.Rule, Value: o.Cause.Value, Limit: o.Cause.Limit,
		Instructions: o.Cause.Instructions, Labels: o.Labels}
	if o.Acknowledged() {
		info.AcknowledgedBy = &o.AcknowledgedBy
	}
	if o.Unjournaled {
		info.Journaled = new(bool)
	}
	return info
}

// stampOf returns nil for the zero time.
func stampOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
