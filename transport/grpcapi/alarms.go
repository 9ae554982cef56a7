package grpcapi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/otkit/otkit/alarms"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

// GetAlarms implements PlatformApi.
func (p *Platform) GetAlarms(ctx context.Context, r *pb.GetAlarmsRequest) (*pb.GetAlarmsResponse, error) {
	q, err := alarmQuery(r.GetSeverityFilter(), r.GetPagination())
	if err != nil {
		return nil, err
	}
	q.OnlyUnacknowledged = r.GetOnlyUnacknowledged()
	page, err := p.Alarms.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return &pb.GetAlarmsResponse{Alarms: alarmsOf(page.Occurrences), TotalCount: int32(page.Total)}, nil
}

// GetAlarmHistory implements PlatformApi.
func (p *Platform) GetAlarmHistory(ctx context.Context, r *pb.GetAlarmHistoryRequest) (*pb.GetAlarmHistoryResponse, error) {
	start, end := r.GetTimeRange().GetStart(), r.GetTimeRange().GetEnd()
	if !start.IsValid() || !end.IsValid() {
		return nil, alarms.ErrInvalidTimeRange.Because("start and end are required")
	}
	q, err := alarmQuery(r.GetSeverityFilter(), r.GetPagination())
	if err != nil {
		return nil, err
	}
	page, err := p.Alarms.History(ctx, start.AsTime(), end.AsTime(), q)
	if err != nil {
		return nil, err
	}
	return &pb.GetAlarmHistoryResponse{Alarms: alarmsOf(page.Occurrences), TotalCount: int32(page.Total)}, nil
}

// alarmQuery reads a filter and a page, of which 0 means the default.
func alarmQuery(severity string, page *pb.PaginationRequest) (alarms.ListQuery, error) {
	set, err := alarms.ParseWireFilter(severity)
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
func (p *Platform) AcknowledgeAlarm(ctx context.Context, r *pb.AcknowledgeAlarmRequest) (*pb.AcknowledgeAlarmResponse, error) {
	if _, err := p.Alarms.Acknowledge(ctx, alarms.ByID(r.GetAlarmId()), p.Caller(ctx), r.GetComment()); err != nil {
		return nil, err
	}
	return &pb.AcknowledgeAlarmResponse{Success: true}, nil
}

// SubscribeAlarms implements PlatformApi.
func (p *Platform) SubscribeAlarms(r *pb.SubscribeAlarmsRequest, stream grpc.ServerStreamingServer[pb.SubscribeAlarmsResponse]) error {
	set, err := alarms.ParseWireFilter(r.GetSeverityFilter())
	if err != nil {
		return err
	}
	sub, err := p.Alarms.Subscribe(alarms.SubscribeOptions{Severities: set})
	if err != nil {
		return err
	}
	defer sub.Close()
	// The headers tell the client that the subscription stands: what it lists from now on and what the
	// stream brings leave no gap.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	ctx, cancel := p.Live(stream.Context())
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
	info := &pb.AlarmInfo{Id: o.ID, Code: o.Code, Source: o.Source, Message: o.Message, Severity: o.Severity.Wire(),
		TriggeredAt: timestamppb.New(o.RaisedAt), AcknowledgedAt: stampOf(o.AcknowledgedAt), ClearedAt: stampOf(o.ClearedAt),
		IsActive: o.Active, Comment: o.Comment}
	if o.Acknowledged() {
		info.AcknowledgedBy = &o.AcknowledgedBy
	}
	return info
}

// stampOf gives nil for the zero time.
func stampOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
