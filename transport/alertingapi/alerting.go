package alertingapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/timestamp"
	"github.com/otkit/otkit/transport/alertingapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/internal/shared"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/remote"
)

var _ gen.StrictServerInterface = (*handlers)(nil)

// WebhookPath is where alerts of other systems are taken.
const WebhookPath = "/api/v1.0/alertsource/webhook"

// ListSilences implements GET /api/v1.0/alert-silence.
func (a *handlers) ListSilences(ctx context.Context, _ gen.ListSilencesRequestObject) (gen.ListSilencesResponseObject, error) {
	list, err := a.silences.List(ctx)
	return gen.ListSilences200JSONResponse(silencesOf(list)), err
}

// ListActiveSilences implements GET /api/v1.0/alert-silence/active.
func (a *handlers) ListActiveSilences(ctx context.Context, _ gen.ListActiveSilencesRequestObject) (gen.ListActiveSilencesResponseObject, error) {
	list, err := a.silences.Active(ctx)
	return gen.ListActiveSilences200JSONResponse(silencesOf(list)), err
}

// AddSilence implements POST /api/v1.0/alert-silence.
func (a *handlers) AddSilence(ctx context.Context, r gen.AddSilenceRequestObject) (gen.AddSilenceResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	n := silences.Silence{SourceType: r.Body.SourceType, Pattern: r.Body.SourceIDPattern, Reason: r.Body.Reason, CreatedBy: r.Body.CreatedBy}
	by, known := a.caller(ctx)
	if n.Anonymous = !known; known {
		n.RecordedBy = by
	}
	var bad []fault.Field
	for _, at := range []struct {
		name, text string
		into       *time.Time
	}{{"startsAt", r.Body.StartsAt, &n.StartsAt}, {"endsAt", r.Body.EndsAt, &n.EndsAt}} {
		var err error
		if *at.into, err = timestamp.Parse(at.text); err != nil && at.text != "" {
			bad = append(bad, fault.Field{Field: at.name, Message: "must be a time such as 2026-01-31T12:00:00Z"})
		}
	}
	if len(bad) > 0 {
		return nil, silences.ErrInvalid.Invalid(bad...)
	}
	made, err := a.silences.Create(ctx, n)
	if err != nil {
		return nil, err
	}
	if a.logger != nil {
		a.logger.Info("silence added", "silenceId", made.ID, "by", by, "createdBy", made.CreatedBy, "endsAt", made.EndsAt, "matchesAll", made.Broad())
	}
	return gen.AddSilence201JSONResponse(silenceOf(made)), nil
}

// ChangeSilence implements PUT /api/v1.0/alert-silence/{id}.
func (a *handlers) ChangeSilence(ctx context.Context, r gen.ChangeSilenceRequestObject) (gen.ChangeSilenceResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	n := silences.Silence{SourceType: r.Body.SourceType, Pattern: r.Body.SourceIDPattern, Reason: r.Body.Reason}
	var err error
	if n.EndsAt, err = timestamp.Parse(r.Body.EndsAt); err != nil && r.Body.EndsAt != "" {
		return nil, silences.ErrInvalid.Invalid(fault.Field{Field: "endsAt", Message: "must be a time such as 2026-01-31T12:00:00Z"})
	}
	changed, err := a.silences.Change(ctx, r.ID, n)
	if err != nil {
		return nil, err
	}
	by, _ := a.caller(ctx)
	a.logger.Info("silence changed", "silenceId", changed.ID, "by", by, "endsAt", changed.EndsAt, "matchesAll", changed.Broad())
	return gen.ChangeSilence200JSONResponse(silenceOf(changed)), nil
}

// RemoveSilence implements DELETE /api/v1.0/alert-silence/{id}.
func (a *handlers) RemoveSilence(ctx context.Context, r gen.RemoveSilenceRequestObject) (gen.RemoveSilenceResponseObject, error) {
	return gen.RemoveSilence204Response{}, a.silences.Delete(ctx, r.ID)
}

func silencesOf(list []silences.Silence) []gen.AlertSilence {
	out := make([]gen.AlertSilence, len(list))
	for i, s := range list {
		out[i] = silenceOf(s)
	}
	return out
}

func silenceOf(s silences.Silence) gen.AlertSilence {
	return gen.AlertSilence{SilenceID: s.ID, SourceType: s.SourceType, SourceIDPattern: s.Pattern, Reason: s.Reason,
		CreatedBy: s.CreatedBy, RecordedBy: s.RecordedBy, CreatedAt: s.CreatedAt.UTC(), StartsAt: s.StartsAt.UTC(), EndsAt: s.EndsAt.UTC()}
}

// ListAlertHistory implements GET /api/v1.0/alert-history.
func (a *handlers) ListAlertHistory(ctx context.Context, r gen.ListAlertHistoryRequestObject) (gen.ListAlertHistoryResponseObject, error) {
	severities, err := severityWord(r.Params.Severity)
	if err != nil {
		return nil, err
	}
	page, size := 1, history.DefaultPageSize
	if r.Params.Page != nil {
		page = *r.Params.Page
	}
	if r.Params.PageSize != nil {
		size = *r.Params.PageSize
	}
	labels, err := alarms.ParseLabels(r.Params.Label)
	if err != nil {
		return nil, err
	}
	list, err := a.history.List(ctx, history.Filter{Severities: severities, Source: r.Params.Source, Text: r.Params.Text,
		State: history.State(r.Params.State), Labels: labels, From: r.Params.StartDate, To: r.Params.EndDate}, page, size)
	if err != nil {
		return nil, err
	}
	answer := gen.ListAlertHistory200JSONResponse{Records: make([]gen.AlertHistoryRecord, len(list.Records)),
		TotalCount: int64(list.Total), Page: list.Page, PageSize: list.PageSize, TotalPages: list.TotalPages}
	for i, rec := range list.Records {
		answer.Records[i] = gen.AlertHistoryRecord{ID: rec.ID, Timestamp: rec.Key.At.UTC(), Severity: shared.AlarmSeverity(rec.Severity.ThreeLevel()),
			Source: rec.Source, Title: rec.Title, Description: rec.Description, Labels: orEmpty(rec.Labels), ResolvedAt: rec.CompletedAt, Truncated: rec.Truncated}
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
	set, err := alarms.ParseThreeLevel(word)
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
func (a *handlers) GetAlertRecord(ctx context.Context, r gen.GetAlertRecordRequestObject) (gen.GetAlertRecordResponseObject, error) {
	rec, err := a.history.Get(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return gen.GetAlertRecord200JSONResponse{ID: rec.ID, Timestamp: rec.Key.At.UTC(), Severity: shared.AlarmSeverity(rec.Severity.ThreeLevel()),
		Source: rec.Source, Title: rec.Title, Description: rec.Description, Labels: orEmpty(rec.Labels),
		Annotations: orEmpty(rec.Annotations), ResolvedAt: rec.CompletedAt, Truncated: rec.Truncated}, nil
}

// GetSeverityStats implements GET /api/v1.0/alert-history/stats/severity.
func (a *handlers) GetSeverityStats(ctx context.Context, r gen.GetSeverityStatsRequestObject) (gen.GetSeverityStatsResponseObject, error) {
	counts, err := a.history.CountBySeverity(ctx, r.Params.StartDate, r.Params.EndDate)
	if err != nil {
		return nil, err
	}
	// The surface knows three severities: those that are shown alike count together.
	answer := gen.GetSeverityStats200JSONResponse{}
	at := make(map[string]int)
	for _, c := range counts {
		word := c.Severity.ThreeLevel()
		if i, known := at[word]; known {
			answer[i].Count += c.Count
			continue
		}
		at[word] = len(answer)
		answer = append(answer, gen.SeverityCount{Severity: shared.AlarmSeverity(word), Count: c.Count})
	}
	return answer, nil
}

// GetSourceStats implements GET /api/v1.0/alert-history/stats/source.
func (a *handlers) GetSourceStats(ctx context.Context, r gen.GetSourceStatsRequestObject) (gen.GetSourceStatsResponseObject, error) {
	counts, err := a.history.CountBySource(ctx, r.Params.StartDate, r.Params.EndDate)
	if err != nil {
		return nil, err
	}
	answer := make(gen.GetSourceStats200JSONResponse, len(counts))
	for i, c := range counts {
		answer[i] = gen.SourceCount{Source: c.Source, Count: c.Count}
	}
	return answer, nil
}

// Receive implements POST /api/v1.0/alertsource/webhook. The alerts of a body are read one by one, so
// that one that cannot be read does not spoil the others.
func (a *handlers) Receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		problem.Write(w, r, problem.FromDecode(err), problem.Problem)
		return
	}
	if a.webhook == nil {
		problem.Write(w, r, alertsource.ErrNotSupported, problem.Problem)
		return
	}
	result, err := a.webhook.Receive(r.Context(), peer(r), body)
	if errors.Is(err, alertsource.ErrNothingStored) && r.Context().Err() == nil {
		// The time that ran out may be the store's: taken for the client's own, it would not be a 500.
		err = alertsource.ErrNothingStored
	}
	if err != nil {
		problem.Write(w, r, err, problem.Problem)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // the client may have gone
}

// peer returns the address that a request came from, behind proxies that are trusted.
func peer(r *http.Request) string {
	if caller, ok := remote.From(r.Context()); ok {
		return caller.String()
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// GetWebhookHealth implements GET /api/v1.0/alertsource/health.
func (a *handlers) GetWebhookHealth(context.Context, gen.GetWebhookHealthRequestObject) (gen.GetWebhookHealthResponseObject, error) {
	if a.webhook == nil {
		return nil, alertsource.ErrNotSupported
	}
	return gen.GetWebhookHealth200JSONResponse{Status: "healthy", Endpoint: WebhookPath}, nil
}

// GetDigest implements GET /api/v1.0/alert-history/digests/{id}.
func (a *handlers) GetDigest(ctx context.Context, r gen.GetDigestRequestObject) (gen.GetDigestResponseObject, error) {
	page, size := 1, outbox.MaxDigestMessages
	if r.Params.Page != nil {
		page = *r.Params.Page
	}
	if r.Params.PageSize != nil {
		size = *r.Params.PageSize
	}
	list, err := a.dispatcher.Digest(ctx, r.ID, page, size)
	if err != nil {
		return nil, err
	}
	answer := gen.GetDigest200JSONResponse{Messages: make([]gen.DigestMessage, len(list.Deliveries)), TotalCount: int64(list.Total)}
	for i := range list.Deliveries {
		n := &list.Deliveries[i].Notification
		answer.Messages[i] = gen.DigestMessage{AlarmID: n.AlarmID, Code: n.Code, Severity: n.Severity.String(), Source: n.Source,
			SourceType: n.SourceType, Message: n.Message, At: n.At.UTC(), Resolved: n.Resolved}
	}
	return answer, nil
}

// ListDeadLetters implements GET /api/v1/alerting/deadletters.
func (a *handlers) ListDeadLetters(ctx context.Context, r gen.ListDeadLettersRequestObject) (gen.ListDeadLettersResponseObject, error) {
	page, size := 1, history.DefaultPageSize
	if r.Params.Page != nil {
		page = *r.Params.Page
	}
	if r.Params.PageSize != nil {
		size = *r.Params.PageSize
	}
	list, err := a.dispatcher.DeadLetters(ctx, r.Params.Channel, page, size)
	if err != nil {
		return nil, err
	}
	answer := gen.ListDeadLetters200JSONResponse{DeadLetters: make([]gen.DeadLetter, len(list.Deliveries)), TotalCount: int64(list.Total)}
	for i, d := range list.Deliveries {
		answer.DeadLetters[i] = gen.DeadLetter{ID: d.ID, Channel: d.Channel, Subject: d.Notification.Title,
			Severity: gen.DeadLetterSeverity(d.Notification.Severity.String()), Source: d.Notification.Source,
			CreatedAt: d.CreatedAt.UTC(), Attempts: d.Attempts, LastError: d.LastError, Recipient: d.Recipient}
	}
	return answer, nil
}

// RetryDeadLetter implements POST /api/v1/alerting/deadletters/{id}/retry.
func (a *handlers) RetryDeadLetter(ctx context.Context, r gen.RetryDeadLetterRequestObject) (gen.RetryDeadLetterResponseObject, error) {
	return gen.RetryDeadLetter200JSONResponse{Success: true}, a.dispatcher.Retry(ctx, r.ID)
}

// RetryDeadLetters implements POST /api/v1/alerting/deadletters/retry.
func (a *handlers) RetryDeadLetters(ctx context.Context, r gen.RetryDeadLettersRequestObject) (gen.RetryDeadLettersResponseObject, error) {
	n, err := a.dispatcher.RetryAll(ctx, r.Params.Channel)
	return gen.RetryDeadLetters200JSONResponse{Retried: n}, err
}

// DiscardDeadLetter implements DELETE /api/v1/alerting/deadletters/{id}.
func (a *handlers) DiscardDeadLetter(ctx context.Context, r gen.DiscardDeadLetterRequestObject) (gen.DiscardDeadLetterResponseObject, error) {
	by, _ := a.caller(ctx)
	return gen.DiscardDeadLetter204Response{}, a.dispatcher.Discard(ctx, r.ID, by)
}

// DiscardDeadLetters implements DELETE /api/v1/alerting/deadletters.
func (a *handlers) DiscardDeadLetters(ctx context.Context, r gen.DiscardDeadLettersRequestObject) (gen.DiscardDeadLettersResponseObject, error) {
	by, _ := a.caller(ctx)
	_, err := a.dispatcher.DiscardAll(ctx, r.Params.Channel, by)
	return gen.DiscardDeadLetters204Response{}, err
}

// ListChannels implements GET /api/v1/alerting/channels.
func (a *handlers) ListChannels(context.Context, gen.ListChannelsRequestObject) (gen.ListChannelsResponseObject, error) {
	answer := gen.ListChannels200JSONResponse{}
	for _, c := range a.dispatcher.Channels() {
		answer = append(answer, gen.ChannelStatus{Name: c.Name, Sent: int64(c.Sent), Failed: int64(c.Failed), PausedUntil: c.PausedUntil, LastError: c.LastError})
	}
	return answer, nil
}

// testLimit is how long a test message may take.
const testLimit = 20 * time.Second

// TestChannel implements POST /api/v1/alerting/channels/{name}/test.
func (a *handlers) TestChannel(ctx context.Context, r gen.TestChannelRequestObject) (gen.TestChannelResponseObject, error) {
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	err := a.dispatcher.Test(ctx, r.Name)
	if f, ok := fault.From(err); ok && f.Is(alerting.ErrChannelFailed) {
		return gen.TestChannel200JSONResponse{Success: false, Message: f.Message}, nil
	}
	return gen.TestChannel200JSONResponse{Success: true, Message: "the test message was taken"}, err
}
