package alarmsapi

import (
	"context"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/alarmsapi/internal/gen"
)

// act is an action of an operator on a condition.
type act func(ctx context.Context, ref alarms.Ref, by, comment string) (alarms.Condition, error)

func (a *handlers) do(ctx context.Context, do act, code int64, body *gen.AcknowledgeRequest) (gen.SuppressedAlarm, error) {
	c, err := do(ctx, alarms.ByCode(code), a.caller(ctx), comment(body))
	return suppressedOf(c), err
}

func suppressedOf(c alarms.Condition) gen.SuppressedAlarm {
	w := gen.SuppressedAlarm{Code: c.Code, State: gen.SuppressedAlarmState(c.State()), ShelvedUntil: c.ShelvedUntil, ShelvedBy: c.ShelvedBy,
		SuppressedBy: c.SuppressedBy, SuppressedAt: c.SuppressedAt, SuppressionComment: c.SuppressionComment}
	if c.Last != nil {
		last := infoOf(c.Last)
		w.Last = &last
	}
	return w
}

// ListSuppressedAlarms implements GET /api/v1/alarms/suppressed.
func (a *handlers) ListSuppressedAlarms(ctx context.Context, _ gen.ListSuppressedAlarmsRequestObject) (gen.ListSuppressedAlarmsResponseObject, error) {
	list, err := a.service.SuppressedConditions(ctx)
	if err != nil {
		return nil, err
	}
	answer := make(gen.ListSuppressedAlarms200JSONResponse, len(list))
	for i, c := range list {
		answer[i] = suppressedOf(c)
	}
	return answer, nil
}

// ShelveAlarm implements POST /api/v1/alarms/{code}/shelve.
func (a *handlers) ShelveAlarm(ctx context.Context, r gen.ShelveAlarmRequestObject) (gen.ShelveAlarmResponseObject, error) {
	if r.Body == nil || r.Body.Minutes < 1 || r.Body.Minutes > 10080 {
		return nil, alarms.ErrInvalidRequest.Invalid(fault.Field{Field: "minutes", Message: "must be 1 to 10080"})
	}
	c, err := a.service.Shelve(ctx, alarms.ByCode(r.Code), time.Duration(r.Body.Minutes)*time.Minute, a.caller(ctx), r.Body.Comment)
	return gen.ShelveAlarm200JSONResponse(suppressedOf(c)), err
}

// UnshelveAlarm implements POST /api/v1/alarms/{code}/unshelve.
func (a *handlers) UnshelveAlarm(ctx context.Context, r gen.UnshelveAlarmRequestObject) (gen.UnshelveAlarmResponseObject, error) {
	answer, err := a.do(ctx, a.service.Unshelve, r.Code, r.Body)
	return gen.UnshelveAlarm200JSONResponse(answer), err
}

// SuppressAlarm implements POST /api/v1/alarms/{code}/suppress.
func (a *handlers) SuppressAlarm(ctx context.Context, r gen.SuppressAlarmRequestObject) (gen.SuppressAlarmResponseObject, error) {
	answer, err := a.do(ctx, a.service.SuppressByDesign, r.Code, r.Body)
	return gen.SuppressAlarm200JSONResponse(answer), err
}

// UnsuppressAlarm implements POST /api/v1/alarms/{code}/unsuppress.
func (a *handlers) UnsuppressAlarm(ctx context.Context, r gen.UnsuppressAlarmRequestObject) (gen.UnsuppressAlarmResponseObject, error) {
	answer, err := a.do(ctx, a.service.UnsuppressByDesign, r.Code, r.Body)
	return gen.UnsuppressAlarm200JSONResponse(answer), err
}

// TakeAlarmOutOfService implements POST /api/v1/alarms/{code}/out-of-service.
func (a *handlers) TakeAlarmOutOfService(ctx context.Context, r gen.TakeAlarmOutOfServiceRequestObject) (gen.TakeAlarmOutOfServiceResponseObject, error) {
	answer, err := a.do(ctx, a.service.OutOfService, r.Code, r.Body)
	return gen.TakeAlarmOutOfService200JSONResponse(answer), err
}

// PutAlarmInService implements POST /api/v1/alarms/{code}/in-service.
func (a *handlers) PutAlarmInService(ctx context.Context, r gen.PutAlarmInServiceRequestObject) (gen.PutAlarmInServiceResponseObject, error) {
	answer, err := a.do(ctx, a.service.InService, r.Code, r.Body)
	return gen.PutAlarmInService200JSONResponse(answer), err
}

// ResetAlarm implements POST /api/v1/alarms/{code}/reset.
func (a *handlers) ResetAlarm(ctx context.Context, r gen.ResetAlarmRequestObject) (gen.ResetAlarmResponseObject, error) {
	if _, err := a.service.Reset(ctx, alarms.ByCode(r.Code), a.caller(ctx), comment(r.Body)); err != nil {
		return nil, err
	}
	c, err := a.service.Condition(ctx, alarms.ByCode(r.Code))
	return gen.ResetAlarm200JSONResponse(suppressedOf(c)), err
}

// GetAlarmAnalytics implements GET /api/v1/alarms/analytics.
func (a *handlers) GetAlarmAnalytics(ctx context.Context, r gen.GetAlarmAnalyticsRequestObject) (gen.GetAlarmAnalyticsResponseObject, error) {
	start, end := a.span(r.Params.Start, r.Params.End)
	f, err := a.service.Analytics(ctx, start, end)
	if err != nil {
		return nil, err
	}
	answer := gen.GetAlarmAnalytics200JSONResponse{
		Start: f.Start, End: f.End, Count: f.Count, PerOperatorHour: f.PerHour, Acceptable: f.Acceptable, Manageable: f.Manageable,
		Peak: f.Peak, Floods: make([]gen.AlarmFlood, len(f.Floods)), FloodPercent: f.FloodPercent,
		Top: frequent(f.Top), TopPercent: f.TopPercent, Chattering: frequent(f.Chattering), Standing: f.ActiveCount, ReturnedUnacknowledged: f.ReturnedCount,
		Stale: make([]gen.AlarmInfo, len(f.Stale)), StaleCount: f.StaleCount,
	}
	for i, flood := range f.Floods {
		answer.Floods[i] = gen.AlarmFlood{Start: flood.Start, End: flood.End, Count: flood.Count, Peak: flood.Peak}
	}
	for i := range f.Stale {
		answer.Stale[i] = infoOf(&f.Stale[i])
	}
	return answer, nil
}

func frequent(list []alarms.ConditionCount) []gen.FrequentAlarm {
	out := make([]gen.FrequentAlarm, len(list))
	for i, f := range list {
		out[i] = gen.FrequentAlarm{Code: f.Code, Count: f.Count, Source: f.Last.Source, Message: f.Last.Message}
	}
	return out
}
