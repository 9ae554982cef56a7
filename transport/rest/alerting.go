package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/alertingapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
)

// Alerting serves silences, alert history, the webhook and what there is to know of the channels.
type Alerting struct {
	Silences   *alerting.Silences
	History    *alerting.History
	Webhook    *alerting.Webhook
	Dispatcher *alerting.Dispatcher
	Logger     *slog.Logger // default: discards
}

var _ alertingapi.StrictServerInterface = (*Alerting)(nil)

// WebhookPath is where alerts of other systems are taken.
const WebhookPath = "/api/v1.0/alertsource/webhook"

// ListSilences implements GET /api/v1.0/alert-silence.
func (a *Alerting) ListSilences(ctx context.Context, _ alertingapi.ListSilencesRequestObject) (alertingapi.ListSilencesResponseObject, error) {
	list, err := a.Silences.List(ctx)
	return alertingapi.ListSilences200JSONResponse(silencesOf(list)), err
}

// ListActiveSilences implements GET /api/v1.0/alert-silence/active.
func (a *Alerting) ListActiveSilences(ctx context.Context, _ alertingapi.ListActiveSilencesRequestObject) (alertingapi.ListActiveSilencesResponseObject, error) {
	list, err := a.Silences.Active(ctx)
	return alertingapi.ListActiveSilences200JSONResponse(silencesOf(list)), err
}

// AddSilence implements POST /api/v1.0/alert-silence.
func (a *Alerting) AddSilence(ctx context.Context, r alertingapi.AddSilenceRequestObject) (alertingapi.AddSilenceResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	n := alerting.Silence{SourceType: r.Body.SourceType, Pattern: r.Body.SourceIDPattern, Reason: r.Body.Reason, CreatedBy: r.Body.CreatedBy}
	var bad []fault.Field
	for _, at := range []struct {
		name, text string
		into       *time.Time
	}{{"startsAt", r.Body.StartsAt, &n.StartsAt}, {"endsAt", r.Body.EndsAt, &n.EndsAt}} {
		var err error
		if *at.into, err = time.Parse(time.RFC3339Nano, at.text); err != nil && at.text != "" {
			bad = append(bad, fault.Field{Field: at.name, Message: "must be a time such as 2026-01-31T12:00:00Z"})
		}
	}
	if len(bad) > 0 {
		return nil, alerting.ErrInvalidSilence.Invalid(bad...)
	}
	made, err := a.Silences.Create(ctx, n)
	if err != nil {
		return nil, err
	}
	if p, ok := auth.From(ctx); ok && a.Logger != nil {
		a.Logger.Info("a silence was made", "silenceId", made.ID, "by", p.Name, "createdBy", made.CreatedBy)
	}
	return alertingapi.AddSilence201JSONResponse(silenceOf(made)), nil
}

// RemoveSilence implements DELETE /api/v1.0/alert-silence/{id}.
func (a *Alerting) RemoveSilence(ctx context.Context, r alertingapi.RemoveSilenceRequestObject) (alertingapi.RemoveSilenceResponseObject, error) {
	return alertingapi.RemoveSilence204Response{}, a.Silences.Delete(ctx, r.ID)
}

func silencesOf(list []alerting.Silence) []alertingapi.AlertSilence {
	out := make([]alertingapi.AlertSilence, len(list))
	for i, s := range list {
		out[i] = silenceOf(s)
	}
	return out
}

func silenceOf(s alerting.Silence) alertingapi.AlertSilence {
	return alertingapi.AlertSilence{SilenceID: s.ID, SourceType: s.SourceType, SourceIDPattern: s.Pattern, Reason: s.Reason,
		CreatedBy: s.CreatedBy, CreatedAt: s.CreatedAt.UTC(), StartsAt: s.StartsAt.UTC(), EndsAt: s.EndsAt.UTC()}
}

// ListAlertHistory implements GET /api/v1.0/alert-history.
func (a *Alerting) ListAlertHistory(ctx context.Context, r alertingapi.ListAlertHistoryRequestObject) (alertingapi.ListAlertHistoryResponseObject, error) {
	severities, err := severityWord(r.Params.Severity)
	if err != nil {
		return nil, err
	}
	page, size := 1, alerting.DefaultPageSize
	if r.Params.Page != nil {
		page = *r.Params.Page
	}
	if r.Params.PageSize != nil {
		size = *r.Params.PageSize
	}
	list, err := a.History.List(ctx, alerting.RecordFilter{Severities: severities, Source: r.Params.Source,
		From: r.Params.StartDate, To: r.Params.EndDate}, page, size)
	if err != nil {
		return nil, err
	}
	answer := alertingapi.ListAlertHistory200JSONResponse{Records: make([]alertingapi.AlertHistoryRecord, len(list.Records)),
		TotalCount: list.TotalCount, Page: list.Page, PageSize: list.PageSize, TotalPages: list.TotalPages}
	for i, rec := range list.Records {
		answer.Records[i] = alertingapi.AlertHistoryRecord{ID: rec.ID, Timestamp: rec.Key.At.UTC(), Severity: alertingapi.AlarmSeverity(rec.Severity.Wire()),
			Source: rec.Source, Title: rec.Title, Description: rec.Description, Labels: orEmpty(rec.Labels), ResolvedAt: rec.CompletedAt}
	}
	return answer, nil
}

// severityWord reads the severity of a query, by its name or by its number.
func severityWord(word string) (alarms.SeveritySet, error) {
	switch word {
	case "0":
		word = "Info"
	case "1":
		word = "Warning"
	case "2":
		word = "Critical"
	}
	set, err := alarms.ParseWireFilter(word)
	if err != nil {
		return 0, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "severity", Message: "must be Info, Warning or Critical"})
	}
	return set, nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// GetAlertRecord implements GET /api/v1.0/alert-history/{id}.
func (a *Alerting) GetAlertRecord(ctx context.Context, r alertingapi.GetAlertRecordRequestObject) (alertingapi.GetAlertRecordResponseObject, error) {
	rec, err := a.History.Get(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return alertingapi.GetAlertRecord200JSONResponse{ID: rec.ID, Timestamp: rec.Key.At.UTC(), Severity: alertingapi.AlarmSeverity(rec.Severity.Wire()),
		Source: rec.Source, Title: rec.Title, Description: rec.Description, Labels: orEmpty(rec.Labels),
		Annotations: orEmpty(rec.Annotations), ResolvedAt: rec.CompletedAt}, nil
}

// GetSeverityStats implements GET /api/v1.0/alert-history/stats/severity.
func (a *Alerting) GetSeverityStats(ctx context.Context, r alertingapi.GetSeverityStatsRequestObject) (alertingapi.GetSeverityStatsResponseObject, error) {
	counts, err := a.History.CountBySeverity(ctx, r.Params.StartDate, r.Params.EndDate)
	if err != nil {
		return nil, err
	}
	// The surface knows three severities: those that are shown alike count together.
	answer := alertingapi.GetSeverityStats200JSONResponse{}
	at := make(map[string]int)
	for _, c := range counts {
		word := c.Severity.Wire()
		if i, known := at[word]; known {
			answer[i].Count += c.Count
			continue
		}
		at[word] = len(answer)
		answer = append(answer, alertingapi.SeverityCount{Severity: alertingapi.AlarmSeverity(word), Count: c.Count})
	}
	return answer, nil
}

// GetSourceStats implements GET /api/v1.0/alert-history/stats/source.
func (a *Alerting) GetSourceStats(ctx context.Context, r alertingapi.GetSourceStatsRequestObject) (alertingapi.GetSourceStatsResponseObject, error) {
	counts, err := a.History.CountBySource(ctx, r.Params.StartDate, r.Params.EndDate)
	if err != nil {
		return nil, err
	}
	answer := make(alertingapi.GetSourceStats200JSONResponse, len(counts))
	for i, c := range counts {
		answer[i] = alertingapi.SourceCount{Source: c.Source, Count: c.Count}
	}
	return answer, nil
}

// Receive implements POST /api/v1.0/alertsource/webhook. The alerts of a body are read one by one, so
// that one that cannot be read does not spoil the others.
func (a *Alerting) Receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		problem.Write(w, r, problem.FromDecode(err), problem.Problem)
		return
	}
	result, err := a.Webhook.Receive(r.Context(), body)
	if errors.Is(err, alerting.ErrNothingStored) && r.Context().Err() == nil {
		// The time that ran out may be the store's: taken for the client's own, it would not be a 500.
		err = alerting.ErrNothingStored
	}
	if err != nil {
		problem.Write(w, r, err, problem.Problem)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // a client that has gone is nobody to tell
}

// GetWebhookHealth implements GET /api/v1.0/alertsource/health.
func (a *Alerting) GetWebhookHealth(context.Context, alertingapi.GetWebhookHealthRequestObject) (alertingapi.GetWebhookHealthResponseObject, error) {
	return alertingapi.GetWebhookHealth200JSONResponse{Status: "healthy", Endpoint: WebhookPath}, nil
}

// ListDeadLetters implements GET /api/v1/alerting/deadletters.
func (a *Alerting) ListDeadLetters(ctx context.Context, r alertingapi.ListDeadLettersRequestObject) (alertingapi.ListDeadLettersResponseObject, error) {
	page, size := 1, alerting.DefaultPageSize
	if r.Params.Page != nil {
		page = *r.Params.Page
	}
	if r.Params.PageSize != nil {
		size = *r.Params.PageSize
	}
	list, err := a.Dispatcher.DeadLetters(ctx, r.Params.Channel, page, size)
	if err != nil {
		return nil, err
	}
	answer := alertingapi.ListDeadLetters200JSONResponse{DeadLetters: make([]alertingapi.DeadLetter, len(list.Deliveries)), TotalCount: list.TotalCount}
	for i, d := range list.Deliveries {
		answer.DeadLetters[i] = alertingapi.DeadLetter{ID: d.ID, Channel: d.Channel, Subject: d.Notification.Title,
			Severity: alertingapi.DeadLetterSeverity(d.Notification.Severity.String()), Source: d.Notification.Source,
			CreatedAt: d.CreatedAt.UTC(), Attempts: d.Attempts, LastError: d.LastError, Recipient: d.Recipient}
	}
	return answer, nil
}

// RetryDeadLetter implements POST /api/v1/alerting/deadletters/{id}/retry.
func (a *Alerting) RetryDeadLetter(ctx context.Context, r alertingapi.RetryDeadLetterRequestObject) (alertingapi.RetryDeadLetterResponseObject, error) {
	return alertingapi.RetryDeadLetter200JSONResponse{Success: true}, a.Dispatcher.Retry(ctx, r.ID)
}

// RetryDeadLetters implements POST /api/v1/alerting/deadletters/retry.
func (a *Alerting) RetryDeadLetters(ctx context.Context, r alertingapi.RetryDeadLettersRequestObject) (alertingapi.RetryDeadLettersResponseObject, error) {
	n, err := a.Dispatcher.RetryAll(ctx, r.Params.Channel)
	return alertingapi.RetryDeadLetters200JSONResponse{Retried: n}, err
}

// DiscardDeadLetter implements DELETE /api/v1/alerting/deadletters/{id}.
func (a *Alerting) DiscardDeadLetter(ctx context.Context, r alertingapi.DiscardDeadLetterRequestObject) (alertingapi.DiscardDeadLetterResponseObject, error) {
	p, _ := auth.From(ctx)
	return alertingapi.DiscardDeadLetter204Response{}, a.Dispatcher.Discard(ctx, r.ID, p.Name)
}

// DiscardDeadLetters implements DELETE /api/v1/alerting/deadletters.
func (a *Alerting) DiscardDeadLetters(ctx context.Context, r alertingapi.DiscardDeadLettersRequestObject) (alertingapi.DiscardDeadLettersResponseObject, error) {
	p, _ := auth.From(ctx)
	_, err := a.Dispatcher.DiscardAll(ctx, r.Params.Channel, p.Name)
	return alertingapi.DiscardDeadLetters204Response{}, err
}

// ListChannels implements GET /api/v1/alerting/channels.
func (a *Alerting) ListChannels(context.Context, alertingapi.ListChannelsRequestObject) (alertingapi.ListChannelsResponseObject, error) {
	answer := alertingapi.ListChannels200JSONResponse{}
	for _, c := range a.Dispatcher.Channels() {
		answer = append(answer, alertingapi.ChannelStatus{Name: c.Name, Sent: int64(c.Sent), Failed: int64(c.Failed), PausedUntil: c.PausedUntil, LastError: c.LastError})
	}
	return answer, nil
}

// testLimit is how long a test message may take.
const testLimit = 20 * time.Second

// TestChannel implements POST /api/v1/alerting/channels/{name}/test.
func (a *Alerting) TestChannel(ctx context.Context, r alertingapi.TestChannelRequestObject) (alertingapi.TestChannelResponseObject, error) {
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	err := a.Dispatcher.Test(ctx, r.Name)
	if f, ok := fault.From(err); ok && f.Is(alerting.ErrChannelFailed) {
		return alertingapi.TestChannel200JSONResponse{Success: false, Message: f.Message}, nil
	}
	return alertingapi.TestChannel200JSONResponse{Success: true, Message: "the test message was taken"}, err
}
