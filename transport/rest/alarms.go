package rest

import (
	"context"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/openapi/alarmsapi"
)

// Alarms serves both alarm families, shelving, analytics and the alarm rules.
type Alarms struct {
	Service *alarms.Service
	Rules   *alarms.Rules
	Caller  func(ctx context.Context) string
	Now     func() time.Time
}

var _ alarmsapi.StrictServerInterface = (*Alarms)(nil)

// ListAlarms implements GET /api/v1/alarms.
func (a *Alarms) ListAlarms(ctx context.Context, r alarmsapi.ListAlarmsRequestObject) (alarmsapi.ListAlarmsResponseObject, error) {
	q, err := alarmQuery(r.Params.SeverityFilter, r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	q.OnlyUnacknowledged = r.Params.OnlyUnacknowledged
	page, err := a.Service.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return alarmsapi.ListAlarms200JSONResponse(alarmList(page)), nil
}

// GetAlarmHistory implements GET /api/v1/alarms/history.
func (a *Alarms) GetAlarmHistory(ctx context.Context, r alarmsapi.GetAlarmHistoryRequestObject) (alarmsapi.GetAlarmHistoryResponseObject, error) {
	q, err := alarmQuery(r.Params.SeverityFilter, r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	page, err := a.Service.History(ctx, r.Params.Start, r.Params.End, q)
	if err != nil {
		return nil, err
	}
	return alarmsapi.GetAlarmHistory200JSONResponse(alarmList(page)), nil
}

// alarmQuery tells a page or size that is absent, and so takes its default, from one that is 0.
func alarmQuery(severity string, page, size *int) (alarms.ListQuery, error) {
	set, err := alarms.ParseWireFilter(severity)
	if err != nil {
		return alarms.ListQuery{}, err
	}
	q := alarms.ListQuery{Severities: set, Page: 1, PageSize: 50}
	if page != nil {
		q.Page = *page
	}
	if size != nil {
		q.PageSize = *size
	}
	return q, nil
}

// ListAlarmEvents implements GET /api/v1/alarms/{alarm_id}/events.
func (a *Alarms) ListAlarmEvents(ctx context.Context, r alarmsapi.ListAlarmEventsRequestObject) (alarmsapi.ListAlarmEventsResponseObject, error) {
	q, err := alarmQuery("", r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	events, total, err := a.Service.EventsOf(ctx, r.AlarmID, q.Page, q.PageSize)
	if err != nil {
		return nil, err
	}
	answer := alarmsapi.ListAlarmEvents200JSONResponse{Events: make([]alarmsapi.AlarmEvent, len(events)), TotalCount: total}
	for i, e := range events {
		answer.Events[i] = alarmsapi.AlarmEvent{At: e.At.UTC(), Event: alarmsapi.AlarmEventEvent(e.Kind), By: e.By, Comment: e.Comment, Until: e.Until}
	}
	return answer, nil
}

// AcknowledgeAlarm implements POST /api/v1/alarms/{alarm_id}/acknowledge.
func (a *Alarms) AcknowledgeAlarm(ctx context.Context, r alarmsapi.AcknowledgeAlarmRequestObject) (alarmsapi.AcknowledgeAlarmResponseObject, error) {
	if _, err := a.Service.Acknowledge(ctx, alarms.ByID(r.AlarmID), a.Caller(ctx), comment(r.Body)); err != nil {
		return nil, err
	}
	return alarmsapi.AcknowledgeAlarm200JSONResponse{Success: true}, nil
}

func comment(body *alarmsapi.AcknowledgeRequest) string {
	if body == nil {
		return ""
	}
	return body.Comment
}

// AcknowledgeAlarmCode implements POST /api/v1.0/alarms/{code}/acknowledge. There a code whose active
// occurrence is acknowledged is not listed any more, and so not found.
func (a *Alarms) AcknowledgeAlarmCode(ctx context.Context, r alarmsapi.AcknowledgeAlarmCodeRequestObject) (alarmsapi.AcknowledgeAlarmCodeResponseObject, error) {
	if _, err := a.Service.Acknowledge(ctx, alarms.ByCode(r.Code), a.Caller(ctx), ""); err != nil {
		return nil, err
	}
	return alarmsapi.AcknowledgeAlarmCode200JSONResponse{Success: true}, nil
}

// GetActiveAlarms implements GET /api/v1.0/alarms/active.
func (a *Alarms) GetActiveAlarms(ctx context.Context, _ alarmsapi.GetActiveAlarmsRequestObject) (alarmsapi.GetActiveAlarmsResponseObject, error) {
	list, err := a.Service.Active(ctx)
	if err != nil {
		return nil, err
	}
	answer := make(alarmsapi.GetActiveAlarms200JSONResponse, len(list))
	for i, o := range list {
		answer[i] = alarmsapi.ActiveAlarm{Code: o.Code, Message: o.Message, Severity: wire(o.Severity),
			Timestamp: o.RaisedAt, SourceID: o.Source, Acknowledged: o.Acknowledged()}
	}
	return answer, nil
}

// GetRecentAlarms implements GET /api/v1.0/alarms/history.
func (a *Alarms) GetRecentAlarms(ctx context.Context, r alarmsapi.GetRecentAlarmsRequestObject) (alarmsapi.GetRecentAlarmsResponseObject, error) {
	limit := 100
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	list, err := a.Service.RecentHistory(ctx, limit)
	if err != nil {
		return nil, err
	}
	answer := make(alarmsapi.GetRecentAlarms200JSONResponse, len(list))
	for i, o := range list {
		answer[i] = alarmsapi.RecentAlarm{Code: o.Code, Message: o.Message, Severity: wire(o.Severity), Timestamp: o.RaisedAt,
			SourceID: o.Source, Acknowledged: o.Acknowledged(), ClearedAt: timeOrNull(o.ClearedAt)}
	}
	return answer, nil
}

// span fills a time range in: end defaults to now, start to 24 hours before end.
func (a *Alarms) span(start, end time.Time) (time.Time, time.Time) {
	if end.IsZero() {
		end = a.Now()
	}
	if start.IsZero() {
		start = end.Add(-24 * time.Hour)
	}
	return start, end
}

func (a *Alarms) trend(ctx context.Context, start, end time.Time) ([]alarmsapi.AlarmTrendPoint, error) {
	start, end = a.span(start, end)
	points, err := a.Service.Trend(ctx, start, end)
	if err != nil {
		return nil, err
	}
	answer := make([]alarmsapi.AlarmTrendPoint, len(points))
	for i, p := range points {
		answer[i] = alarmsapi.AlarmTrendPoint{Hour: p.Hour, WarningCount: p.Warning, ErrorCount: p.Error, CriticalCount: p.Critical, TotalCount: p.Total}
	}
	return answer, nil
}

// GetAlarmTrend implements GET /api/v1.0/alarms/trend.
func (a *Alarms) GetAlarmTrend(ctx context.Context, r alarmsapi.GetAlarmTrendRequestObject) (alarmsapi.GetAlarmTrendResponseObject, error) {
	points, err := a.trend(ctx, r.Params.Start, r.Params.End)
	return alarmsapi.GetAlarmTrend200JSONResponse(points), err
}

// GetAlarmTrendV1 implements GET /api/v1/alarms/trend.
func (a *Alarms) GetAlarmTrendV1(ctx context.Context, r alarmsapi.GetAlarmTrendV1RequestObject) (alarmsapi.GetAlarmTrendV1ResponseObject, error) {
	points, err := a.trend(ctx, r.Params.Start, r.Params.End)
	return alarmsapi.GetAlarmTrendV1200JSONResponse(points), err
}

func (a *Alarms) resolve(ctx context.Context, code int64, body *alarmsapi.ResolutionRequest) (alarmsapi.AlarmResolution, error) {
	var q alarms.ResolutionRequest
	if body != nil {
		q = alarms.ResolutionRequest{ResolvedBy: body.ResolvedBy, ActionTaken: body.ActionTaken, WasSuccessful: body.WasSuccessful, Notes: body.Notes}
	}
	r, err := a.Service.Resolve(ctx, code, q)
	return resolutionOf(r), err
}

func resolutionOf(r alarms.Resolution) alarmsapi.AlarmResolution {
	return alarmsapi.AlarmResolution{ID: r.ID, AlarmCode: r.Code, ResolvedBy: r.ResolvedBy, ResolvedAt: r.ResolvedAt,
		ActionTaken: r.ActionTaken, WasSuccessful: r.WasSuccessful, Notes: r.Notes}
}

func (a *Alarms) resolutions(ctx context.Context, code int64) ([]alarmsapi.AlarmResolution, error) {
	list, err := a.Service.Resolutions(ctx, code)
	if err != nil {
		return nil, err
	}
	answer := make([]alarmsapi.AlarmResolution, len(list))
	for i, r := range list {
		answer[i] = resolutionOf(r)
	}
	return answer, nil
}

// AddAlarmResolution implements POST /api/v1.0/alarms/{code}/resolution.
func (a *Alarms) AddAlarmResolution(ctx context.Context, r alarmsapi.AddAlarmResolutionRequestObject) (alarmsapi.AddAlarmResolutionResponseObject, error) {
	answer, err := a.resolve(ctx, r.Code, r.Body)
	return alarmsapi.AddAlarmResolution200JSONResponse(answer), err
}

// AddAlarmResolutionV1 implements POST /api/v1/alarms/{code}/resolution.
func (a *Alarms) AddAlarmResolutionV1(ctx context.Context, r alarmsapi.AddAlarmResolutionV1RequestObject) (alarmsapi.AddAlarmResolutionV1ResponseObject, error) {
	answer, err := a.resolve(ctx, r.Code, r.Body)
	return alarmsapi.AddAlarmResolutionV1200JSONResponse(answer), err
}

// ListAlarmResolutions implements GET /api/v1.0/alarms/{code}/resolutions.
func (a *Alarms) ListAlarmResolutions(ctx context.Context, r alarmsapi.ListAlarmResolutionsRequestObject) (alarmsapi.ListAlarmResolutionsResponseObject, error) {
	answer, err := a.resolutions(ctx, r.Code)
	return alarmsapi.ListAlarmResolutions200JSONResponse(answer), err
}

// ListAlarmResolutionsV1 implements GET /api/v1/alarms/{code}/resolutions.
func (a *Alarms) ListAlarmResolutionsV1(ctx context.Context, r alarmsapi.ListAlarmResolutionsV1RequestObject) (alarmsapi.ListAlarmResolutionsV1ResponseObject, error) {
	answer, err := a.resolutions(ctx, r.Code)
	return alarmsapi.ListAlarmResolutionsV1200JSONResponse(answer), err
}

func alarmList(p alarms.Page) alarmsapi.AlarmList {
	list := alarmsapi.AlarmList{Alarms: make([]alarmsapi.AlarmInfo, len(p.Occurrences)), TotalCount: p.Total}
	for i := range p.Occurrences {
		list.Alarms[i] = AlarmInfoOf(&p.Occurrences[i])
	}
	return list
}

// AlarmInfoOf gives the form in which family A and the demonstration hub show an occurrence.
func AlarmInfoOf(o *alarms.Occurrence) alarmsapi.AlarmInfo {
	info := alarmsapi.AlarmInfo{
		ID: o.ID, Code: o.Code, Source: o.Source, Message: o.Message, Severity: wire(o.Severity), TriggeredAt: o.RaisedAt,
		AcknowledgedAt: timeOrNull(o.AcknowledgedAt), ClearedAt: timeOrNull(o.ClearedAt), IsActive: o.Active, Comment: o.Comment,
	}
	if o.Acknowledged() {
		info.AcknowledgedBy = &o.AcknowledgedBy
	}
	return info
}

func wire(s alarms.Severity) alarmsapi.AlarmSeverity { return alarmsapi.AlarmSeverity(s.Wire()) }

// timeOrNull gives null for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
