package alarmsapi

import (
	"context"
	"fmt"
	"github.com/otkit/otkit/transport/problem"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/alarmsapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/internal/shared"
)

var _ gen.StrictServerInterface = (*handlers)(nil)

// ListAlarms implements GET /api/v1/alarms.
func (a *handlers) ListAlarms(ctx context.Context, r gen.ListAlarmsRequestObject) (gen.ListAlarmsResponseObject, error) {
	q, err := alarmQuery(r.Params.SeverityFilter, r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	if q.Search, err = alarmSearch(r.Params.Source, r.Params.Text, r.Params.Label); err != nil {
		return nil, err
	}
	q.OnlyUnacknowledged, q.State, q.Order = r.Params.OnlyUnacknowledged, alarms.ListState(r.Params.State), alarms.ListOrder(r.Params.Sort)
	page, err := a.service.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return gen.ListAlarms200JSONResponse(alarmList(page)), nil
}

// GetAlarmHistory implements GET /api/v1/alarms/history.
func (a *handlers) GetAlarmHistory(ctx context.Context, r gen.GetAlarmHistoryRequestObject) (gen.GetAlarmHistoryResponseObject, error) {
	q, err := alarmQuery(r.Params.SeverityFilter, r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	if q.Search, err = alarmSearch(r.Params.Source, r.Params.Text, r.Params.Label); err != nil {
		return nil, err
	}
	q.State = alarms.ListState(r.Params.State)
	page, err := a.service.History(ctx, r.Params.Start, r.Params.End, q)
	if err != nil {
		return nil, err
	}
	return gen.GetAlarmHistory200JSONResponse(alarmList(page)), nil
}

func alarmSearch(source, text string, labels []string) (alarms.Search, error) {
	pairs, err := alarms.ParseLabels(labels)
	return alarms.Search{Source: source, Text: text, Labels: pairs}, err
}

// alarmQuery distinguishes an absent page or size, which has a default, from one that is 0.
func alarmQuery(severity string, page, size *int) (alarms.ListQuery, error) {
	set, err := alarms.ParseThreeLevel(severity)
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
func (a *handlers) ListAlarmEvents(ctx context.Context, r gen.ListAlarmEventsRequestObject) (gen.ListAlarmEventsResponseObject, error) {
	q, err := alarmQuery("", r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	events, total, err := a.service.EventsOf(ctx, r.AlarmID, q.Page, q.PageSize)
	if err != nil {
		return nil, err
	}
	answer := gen.ListAlarmEvents200JSONResponse{Events: make([]gen.AlarmEvent, len(events)), TotalCount: total}
	for i, e := range events {
		answer.Events[i] = gen.AlarmEvent{At: e.At.UTC(), Event: gen.AlarmEventEvent(e.Kind), By: e.By, Comment: e.Comment, Until: e.Until}
	}
	return answer, nil
}

// AcknowledgeAlarm implements POST /api/v1/alarms/{alarm_id}/acknowledge.
func (a *handlers) AcknowledgeAlarm(ctx context.Context, r gen.AcknowledgeAlarmRequestObject) (gen.AcknowledgeAlarmResponseObject, error) {
	if _, err := a.service.Acknowledge(ctx, alarms.ByID(r.AlarmID), a.caller(ctx), comment(r.Body)); err != nil {
		return nil, err
	}
	return gen.AcknowledgeAlarm200JSONResponse{Success: true}, nil
}

// CommentAlarm implements POST /api/v1/alarms/{alarm_id}/comment.
func (a *handlers) CommentAlarm(ctx context.Context, r gen.CommentAlarmRequestObject) (gen.CommentAlarmResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	if err := a.service.Comment(ctx, r.AlarmID, a.caller(ctx), r.Body.Comment); err != nil {
		return nil, err
	}
	return gen.CommentAlarm200JSONResponse{Success: true}, nil
}

// AcknowledgeAlarms implements POST /api/v1/alarms:acknowledge.
func (a *handlers) AcknowledgeAlarms(ctx context.Context, r gen.AcknowledgeAlarmsRequestObject) (gen.AcknowledgeAlarmsResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	for i, id := range r.Body.AlarmIds {
		if id == "" { // null, as the generated code decodes it, or an empty string
			return nil, problem.ErrInvalidRequest.Invalid(fault.Field{Field: fmt.Sprintf("alarmIds[%d]", i), Message: "must be a string that is not empty"})
		}
	}
	results, err := a.service.AcknowledgeMany(ctx, r.Body.AlarmIds, a.caller(ctx), r.Body.Comment)
	if err != nil {
		return nil, err
	}
	answer := gen.AcknowledgeAlarms200JSONResponse{Acknowledged: []string{}, Errors: []gen.AcknowledgeError{}}
	for i, id := range r.Body.AlarmIds {
		if f, failed := fault.From(results[i]); failed {
			answer.Errors = append(answer.Errors, gen.AcknowledgeError{AlarmID: id, Code: f.Code, Message: f.Message})
		} else {
			answer.Acknowledged = append(answer.Acknowledged, id)
		}
	}
	return answer, nil
}

func comment(body *gen.AcknowledgeRequest) string {
	if body == nil {
		return ""
	}
	return body.Comment
}

// AcknowledgeAlarmCode implements POST /api/v1.0/alarms/{code}/acknowledge. A code whose active occurrence is
// acknowledged is not found, because it is no longer listed there.
func (a *handlers) AcknowledgeAlarmCode(ctx context.Context, r gen.AcknowledgeAlarmCodeRequestObject) (gen.AcknowledgeAlarmCodeResponseObject, error) {
	if _, err := a.service.Acknowledge(ctx, alarms.ByCode(r.Code), a.caller(ctx), ""); err != nil {
		return nil, err
	}
	return gen.AcknowledgeAlarmCode200JSONResponse{Success: true}, nil
}

// GetActiveAlarms implements GET /api/v1.0/alarms/active.
func (a *handlers) GetActiveAlarms(ctx context.Context, _ gen.GetActiveAlarmsRequestObject) (gen.GetActiveAlarmsResponseObject, error) {
	list, err := a.service.ActiveBrief(ctx)
	if err != nil {
		return nil, err
	}
	answer := make(gen.GetActiveAlarms200JSONResponse, len(list))
	for i, o := range list {
		answer[i] = gen.ActiveAlarm{Code: o.Code, Message: o.Message, Severity: severityOf(o.Severity),
			Timestamp: o.RaisedAt, SourceID: o.Source, Acknowledged: o.Acknowledged()}
	}
	return answer, nil
}

// GetRecentAlarms implements GET /api/v1.0/alarms/history.
func (a *handlers) GetRecentAlarms(ctx context.Context, r gen.GetRecentAlarmsRequestObject) (gen.GetRecentAlarmsResponseObject, error) {
	limit := 100
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	list, err := a.service.RecentHistory(ctx, limit)
	if err != nil {
		return nil, err
	}
	answer := make(gen.GetRecentAlarms200JSONResponse, len(list))
	for i, o := range list {
		answer[i] = gen.RecentAlarm{Code: o.Code, Message: o.Message, Severity: severityOf(o.Severity), Timestamp: o.RaisedAt,
			SourceID: o.Source, Acknowledged: o.Acknowledged(), ClearedAt: timeOrNull(o.ClearedAt)}
	}
	return answer, nil
}

// span returns a time range with its defaults: end is now, start 24 hours before end.
func (a *handlers) span(start, end time.Time) (time.Time, time.Time) {
	if end.IsZero() {
		end = a.now()
	}
	if start.IsZero() {
		start = end.Add(-24 * time.Hour)
	}
	return start, end
}

func (a *handlers) trend(ctx context.Context, start, end time.Time) ([]gen.AlarmTrendPoint, error) {
	start, end = a.span(start, end)
	points, err := a.service.Trend(ctx, start, end)
	if err != nil {
		return nil, err
	}
	answer := make([]gen.AlarmTrendPoint, len(points))
	for i, p := range points {
		answer[i] = gen.AlarmTrendPoint{Hour: p.Hour, WarningCount: p.Warning, ErrorCount: p.Error, CriticalCount: p.Critical, TotalCount: p.Total}
	}
	return answer, nil
}

// GetAlarmTrend implements GET /api/v1.0/alarms/trend.
func (a *handlers) GetAlarmTrend(ctx context.Context, r gen.GetAlarmTrendRequestObject) (gen.GetAlarmTrendResponseObject, error) {
	points, err := a.trend(ctx, r.Params.Start, r.Params.End)
	return gen.GetAlarmTrend200JSONResponse(points), err
}

// GetAlarmTrendV1 implements GET /api/v1/alarms/trend.
func (a *handlers) GetAlarmTrendV1(ctx context.Context, r gen.GetAlarmTrendV1RequestObject) (gen.GetAlarmTrendV1ResponseObject, error) {
	points, err := a.trend(ctx, r.Params.Start, r.Params.End)
	return gen.GetAlarmTrendV1200JSONResponse(points), err
}

func (a *handlers) resolve(ctx context.Context, code int64, body *gen.ResolutionRequest) (gen.AlarmResolution, error) {
	var q alarms.ResolutionRequest
	if body != nil {
		q = alarms.ResolutionRequest{ResolvedBy: body.ResolvedBy, RecordedBy: a.caller(ctx), ActionTaken: body.ActionTaken,
			WasSuccessful: body.WasSuccessful, Notes: body.Notes}
	}
	r, err := a.service.Resolve(ctx, code, q)
	return resolutionOf(r), err
}

func resolutionOf(r alarms.Resolution) gen.AlarmResolution {
	return gen.AlarmResolution{ID: r.ID, AlarmCode: r.Code, ResolvedBy: r.ResolvedBy, RecordedBy: r.RecordedBy, ResolvedAt: r.ResolvedAt,
		ActionTaken: r.ActionTaken, WasSuccessful: r.WasSuccessful, Notes: r.Notes}
}

func (a *handlers) resolutions(ctx context.Context, code int64) ([]gen.AlarmResolution, error) {
	list, err := a.service.Resolutions(ctx, code)
	if err != nil {
		return nil, err
	}
	answer := make([]gen.AlarmResolution, len(list))
	for i, r := range list {
		answer[i] = resolutionOf(r)
	}
	return answer, nil
}

// AddAlarmResolution implements POST /api/v1.0/alarms/{code}/resolution.
func (a *handlers) AddAlarmResolution(ctx context.Context, r gen.AddAlarmResolutionRequestObject) (gen.AddAlarmResolutionResponseObject, error) {
	answer, err := a.resolve(ctx, r.Code, r.Body)
	return gen.AddAlarmResolution200JSONResponse(answer), err
}

// AddAlarmResolutionV1 implements POST /api/v1/alarms/{code}/resolution.
func (a *handlers) AddAlarmResolutionV1(ctx context.Context, r gen.AddAlarmResolutionV1RequestObject) (gen.AddAlarmResolutionV1ResponseObject, error) {
	answer, err := a.resolve(ctx, r.Code, r.Body)
	return gen.AddAlarmResolutionV1200JSONResponse(answer), err
}

// ListAlarmResolutions implements GET /api/v1.0/alarms/{code}/resolutions.
func (a *handlers) ListAlarmResolutions(ctx context.Context, r gen.ListAlarmResolutionsRequestObject) (gen.ListAlarmResolutionsResponseObject, error) {
	answer, err := a.resolutions(ctx, r.Code)
	return gen.ListAlarmResolutions200JSONResponse(answer), err
}

// ListAlarmResolutionsV1 implements GET /api/v1/alarms/{code}/resolutions.
func (a *handlers) ListAlarmResolutionsV1(ctx context.Context, r gen.ListAlarmResolutionsV1RequestObject) (gen.ListAlarmResolutionsV1ResponseObject, error) {
	answer, err := a.resolutions(ctx, r.Code)
	return gen.ListAlarmResolutionsV1200JSONResponse(answer), err
}

func alarmList(p alarms.Page) gen.AlarmList {
	list := gen.AlarmList{Alarms: make([]gen.AlarmInfo, len(p.Occurrences)), TotalCount: p.Total}
	for i := range p.Occurrences {
		list.Alarms[i] = infoOf(&p.Occurrences[i])
	}
	return list
}

// infoOf returns the JSON form of an occurrence.
func infoOf(o *alarms.Occurrence) gen.AlarmInfo {
	info := gen.AlarmInfo{
		ID: o.ID, Code: o.Code, Source: o.Source, Message: o.Message, Severity: severityOf(o.Severity), TriggeredAt: o.RaisedAt,
		AcknowledgedAt: timeOrNull(o.AcknowledgedAt), ClearedAt: timeOrNull(o.ClearedAt), IsActive: o.Active, Comment: o.Comment, Late: o.Late(),
		State: gen.AlarmInfoState(o.State()), TagName: o.Cause.Tag, RuleID: o.Cause.Rule, Value: o.Cause.Value, Limit: o.Cause.Limit,
		Instructions: o.Cause.Instructions, Labels: o.Labels,
	}
	if o.Acknowledged() {
		info.AcknowledgedBy = &o.AcknowledgedBy
	}
	if o.Unjournaled {
		info.Journaled = new(bool)
	}
	return info
}

func severityOf(s alarms.Severity) shared.AlarmSeverity { return shared.AlarmSeverity(s.ThreeLevel()) }

// timeOrNull returns nil for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
