package rest

import (
	"context"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/alarmsapi"
)

// act is what an operator does to a condition.
type act func(ctx context.Context, ref alarms.Ref, by, comment string) (alarms.Condition, error)

func (a *Alarms) do(ctx context.Context, do act, code int64, body *alarmsapi.AcknowledgeRequest) (alarmsapi.WithheldAlarm, error) {
	c, err := do(ctx, alarms.ByCode(code), a.Caller(ctx), comment(body))
	return withheldOf(c), err
}

func withheldOf(c alarms.Condition) alarmsapi.WithheldAlarm {
	w := alarmsapi.WithheldAlarm{Code: c.Code, State: alarmsapi.WithheldAlarmState(c.State()), ShelvedUntil: c.ShelvedUntil, ShelvedBy: c.ShelvedBy,
		WithheldBy: c.WithheldBy, WithheldAt: c.WithheldAt, WithheldComment: c.WithheldComment}
	if c.Last != nil {
		last := AlarmInfoOf(c.Last)
		w.Last = &last
	}
	return w
}

// ListWithheldAlarms implements GET /api/v1/alarms/withheld.
func (a *Alarms) ListWithheldAlarms(ctx context.Context, _ alarmsapi.ListWithheldAlarmsRequestObject) (alarmsapi.ListWithheldAlarmsResponseObject, error) {
	list, err := a.Service.Withheld(ctx)
	if err != nil {
		return nil, err
	}
	answer := make(alarmsapi.ListWithheldAlarms200JSONResponse, len(list))
	for i, c := range list {
		answer[i] = withheldOf(c)
	}
	return answer, nil
}

// ShelveAlarm implements POST /api/v1/alarms/{code}/shelve.
func (a *Alarms) ShelveAlarm(ctx context.Context, r alarmsapi.ShelveAlarmRequestObject) (alarmsapi.ShelveAlarmResponseObject, error) {
	if r.Body == nil || r.Body.Minutes < 1 || r.Body.Minutes > 10080 {
		return nil, alarms.ErrInvalidRequest.Invalid(fault.Field{Field: "minutes", Message: "must be 1 to 10080"})
	}
	c, err := a.Service.Shelve(ctx, alarms.ByCode(r.Code), time.Duration(r.Body.Minutes)*time.Minute, a.Caller(ctx), r.Body.Comment)
	return alarmsapi.ShelveAlarm200JSONResponse(withheldOf(c)), err
}

// UnshelveAlarm implements POST /api/v1/alarms/{code}/unshelve.
func (a *Alarms) UnshelveAlarm(ctx context.Context, r alarmsapi.UnshelveAlarmRequestObject) (alarmsapi.UnshelveAlarmResponseObject, error) {
	answer, err := a.do(ctx, a.Service.Unshelve, r.Code, r.Body)
	return alarmsapi.UnshelveAlarm200JSONResponse(answer), err
}

// SuppressAlarm implements POST /api/v1/alarms/{code}/suppress.
func (a *Alarms) SuppressAlarm(ctx context.Context, r alarmsapi.SuppressAlarmRequestObject) (alarmsapi.SuppressAlarmResponseObject, error) {
	answer, err := a.do(ctx, a.Service.Suppress, r.Code, r.Body)
	return alarmsapi.SuppressAlarm200JSONResponse(answer), err
}

// UnsuppressAlarm implements POST /api/v1/alarms/{code}/unsuppress.
func (a *Alarms) UnsuppressAlarm(ctx context.Context, r alarmsapi.UnsuppressAlarmRequestObject) (alarmsapi.UnsuppressAlarmResponseObject, error) {
	answer, err := a.do(ctx, a.Service.Unsuppress, r.Code, r.Body)
	return alarmsapi.UnsuppressAlarm200JSONResponse(answer), err
}

// TakeAlarmOutOfService implements POST /api/v1/alarms/{code}/out-of-service.
func (a *Alarms) TakeAlarmOutOfService(ctx context.Context, r alarmsapi.TakeAlarmOutOfServiceRequestObject) (alarmsapi.TakeAlarmOutOfServiceResponseObject, error) {
	answer, err := a.do(ctx, a.Service.OutOfService, r.Code, r.Body)
	return alarmsapi.TakeAlarmOutOfService200JSONResponse(answer), err
}

// PutAlarmInService implements POST /api/v1/alarms/{code}/in-service.
func (a *Alarms) PutAlarmInService(ctx context.Context, r alarmsapi.PutAlarmInServiceRequestObject) (alarmsapi.PutAlarmInServiceResponseObject, error) {
	answer, err := a.do(ctx, a.Service.InService, r.Code, r.Body)
	return alarmsapi.PutAlarmInService200JSONResponse(answer), err
}

// ResetAlarm implements POST /api/v1/alarms/{code}/reset.
func (a *Alarms) ResetAlarm(ctx context.Context, r alarmsapi.ResetAlarmRequestObject) (alarmsapi.ResetAlarmResponseObject, error) {
	if _, err := a.Service.Reset(ctx, alarms.ByCode(r.Code), a.Caller(ctx), comment(r.Body)); err != nil {
		return nil, err
	}
	c, err := a.Service.Condition(ctx, alarms.ByCode(r.Code))
	return alarmsapi.ResetAlarm200JSONResponse(withheldOf(c)), err
}

// GetAlarmAnalytics implements GET /api/v1/alarms/analytics.
func (a *Alarms) GetAlarmAnalytics(ctx context.Context, r alarmsapi.GetAlarmAnalyticsRequestObject) (alarmsapi.GetAlarmAnalyticsResponseObject, error) {
	start, end := a.span(r.Params.Start, r.Params.End)
	f, err := a.Service.Analytics(ctx, start, end)
	if err != nil {
		return nil, err
	}
	answer := alarmsapi.GetAlarmAnalytics200JSONResponse{
		Start: f.Start, End: f.End, Count: f.Count, PerOperatorHour: f.PerHour, Acceptable: f.Acceptable, Manageable: f.Manageable,
		Peak: f.PeakWindow, Floods: make([]alarmsapi.AlarmFlood, len(f.Floods)), FloodPercent: f.FloodPercent,
		Top: frequent(f.Top), TopPercent: f.TopPercent, Chattering: frequent(f.Chattering), Standing: f.Standing,
		Stale: make([]alarmsapi.AlarmInfo, len(f.Stale)), StaleCount: f.StaleAll,
	}
	for i, flood := range f.Floods {
		answer.Floods[i] = alarmsapi.AlarmFlood{Start: flood.Start, End: flood.End, Count: flood.Count, Peak: flood.Peak}
	}
	for i := range f.Stale {
		answer.Stale[i] = AlarmInfoOf(&f.Stale[i])
	}
	return answer, nil
}

func frequent(list []alarms.Frequent) []alarmsapi.FrequentAlarm {
	out := make([]alarmsapi.FrequentAlarm, len(list))
	for i, f := range list {
		out[i] = alarmsapi.FrequentAlarm{Code: f.Code, Count: f.Count, Source: f.Last.Source, Message: f.Last.Message}
	}
	return out
}
