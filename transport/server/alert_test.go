package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/engine"
)

const (
	webhook = "/api/v1.0/alertsource/webhook"
	silence = "/api/v1.0/alert-silence"
	history = "/api/v1.0/alert-history"
	started = "2026-02-03T04:05:06.789Z"
)

// alertText is an alert as Alertmanager writes it.
func alertText(status, name, severity string) string {
	return fmt.Sprintf(`{"status":%q,"labels":{"alertname":%q,"instance":"pump-7:9100","severity":%q},"annotations":{"summary":"Pump %s","description":"bearing temperature"},
		"startsAt":%q,"endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://prometheus:9090/graph","fingerprint":"3b15fd163d36582e"}`, status, name, severity, name, started)
}

func webhookText(status string, list ...string) string {
	return `{"receiver":"otkit","status":"` + status + `","alerts":[` + strings.Join(list, ",") + `],"groupLabels":{"alertname":"x"},"commonLabels":{},
		"commonAnnotations":{},"externalURL":"http://alertmanager:9093","version":"4","groupKey":"{}:{alertname=\"x\"}","truncatedAlerts":0}`
}

func (p *platform) post(processed, failed int, body string) {
	p.t.Helper()
	a := p.callWrong(nobody, http.MethodPost, webhook, body)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	got := a.object(p.t)
	require.IsType(p.t, "", got["message"])
	delete(got, "message")
	require.Equal(p.t, map[string]any{"success": failed == 0, "processedCount": jsonNumber(int64(processed)), "failedCount": jsonNumber(int64(failed))}, got)
}

func (p *platform) records(query string) []any {
	p.t.Helper()
	a := p.call(nobody, http.MethodGet, history+query, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	return a.object(p.t)["records"].([]any)
}

func TestTheWebhookTakesAlerts(t *testing.T) {
	t.Parallel()
	p := start(t)
	for range 2 { // a repeat changes nothing
		p.post(1, 0, webhookText("resolved", alertText("firing", "Hot", " CRITICAL ")))
	}
	require.Len(t, p.records(""), 1)
	alarm := p.alarmList("")[0]
	require.Equal(t, "Critical", alarm["severity"])
	require.Equal(t, "pump-7:9100", alarm["source"])

	record := p.records("?severity=Critical&source=ump-7")[0].(map[string]any)
	require.Equal(t, "Pump Hot", record["title"])
	require.Equal(t, "bearing temperature", record["description"])
	require.Equal(t, "pump-7:9100", record["source"])
	require.Equal(t, "Critical", record["severity"])
	require.Equal(t, "Hot", record["labels"].(map[string]any)["alertname"])
	require.NotContains(t, record, "annotations")
	detail := p.call(nobody, http.MethodGet, history+"/"+record["id"].(string), nil)
	require.Equal(t, 200, detail.status)
	require.Equal(t, "Pump Hot", detail.object(t)["annotations"].(map[string]any)["summary"])

	// Mixed: one is resolved, one fires, one cannot be read. The status of the body is never used.
	p.post(2, 1, webhookText("firing", alertText("resolved", "Hot", " CRITICAL "), alertText("firing", "Dry", "page"), `{"status":"firing"}`))
	list := p.alarmList("")
	require.Len(t, list, 1)
	require.Equal(t, "Info", list[0]["severity"])
	require.Len(t, p.records(""), 2)
	require.NotNil(t, p.records("?severity=2")[0].(map[string]any)["resolvedAt"])

	for _, bad := range []string{`{"alerts":[]}`, `{}`, `[]`, `{"alerts":`, `{"alerts":{}}`} {
		require.Equal(t, 400, p.callWrong(nobody, http.MethodPost, webhook, bad).status, bad)
	}
	p.post(0, 1, webhookText("firing", strings.Replace(alertText("firing", "x", "info"), started, "noon", 1)))
	p.post(0, 1, webhookText("firing", alertText("smouldering", "x", "info")))

	stats := p.call(nobody, http.MethodGet, history+"/stats/severity", nil)
	require.ElementsMatch(t, []any{map[string]any{"severity": "Critical", "count": jsonNumber(1)},
		map[string]any{"severity": "Warning", "count": jsonNumber(0)}, map[string]any{"severity": "Info", "count": jsonNumber(1)}}, decoded(t, stats.body))
	stats = p.call(nobody, http.MethodGet, history+"/stats/source", nil)
	require.Equal(t, []any{map[string]any{"source": "pump-7:9100", "count": jsonNumber(2)}}, decoded(t, stats.body))
	page := p.call(nobody, http.MethodGet, history+"?pageSize=1", nil).object(t)
	delete(page, "records")
	require.Equal(t, map[string]any{"totalCount": jsonNumber(2), "page": jsonNumber(1), "pageSize": jsonNumber(1), "totalPages": jsonNumber(2)}, page)
	for _, bad := range []string{"?pageSize=101", "?pageSize=0", "?page=0", "?severity=Fatal", "?startDate=noon", "?source=" + strings.Repeat("x", 60_000)} {
		require.Equal(t, 400, p.callWrong(nobody, http.MethodGet, history+bad, nil).status, bad)
	}
	require.Equal(t, 404, p.call(nobody, http.MethodGet, history+"/0198b7a4-0000-7000-8000-000000000000", nil).status)
	require.Equal(t, "healthy", p.call(nobody, http.MethodGet, "/api/v1.0/alertsource/health", nil).object(t)["status"])
}

func TestSilencesAreKept(t *testing.T) {
	t.Parallel()
	p := start(t)
	now := time.Now().UTC().Truncate(time.Second)
	body := func() map[string]any {
		return map[string]any{"sourceType": "Equipment", "sourceIdPattern": "pump-*", "reason": "repair",
			"startsAt": now.Add(-time.Hour).Format(time.RFC3339), "endsAt": now.Add(time.Hour).Format(time.RFC3339)}
	}
	require.Equal(t, "[]", strings.TrimSpace(string(p.call(nobody, http.MethodGet, silence, nil).body)))
	for member := range body() {
		bad := body()
		delete(bad, member)
		require.Equal(t, 400, p.callWrong(nobody, http.MethodPost, silence, bad).status, member)
	}
	bad := body()
	bad["endsAt"] = bad["startsAt"]
	require.Equal(t, 400, p.call(nobody, http.MethodPost, silence, bad).status)

	a := p.call(nobody, http.MethodPost, silence, body())
	require.Equal(t, 201, a.status, "%s", a.body)
	made := a.object(t)
	require.Equal(t, "Admin", made["createdBy"])
	require.WithinDuration(t, time.Now(), sent(t, made["createdAt"]), time.Minute)
	later := body()
	later["startsAt"] = now.Add(time.Minute).Format(time.RFC3339)
	require.Equal(t, 201, p.call(nobody, http.MethodPost, silence, later).status)
	require.Len(t, p.array(silence), 2)
	require.Equal(t, []any{made}, p.array(silence+"/active"))

	p.post(1, 0, webhookText("firing", alertText("firing", "Hot", "critical"))) // raised and recorded nevertheless
	require.Len(t, p.alarmList(""), 1)
	require.Equal(t, made["silenceId"], p.records("")[0].(map[string]any)["labels"].(map[string]any)["silencedBy"])

	path := silence + "/" + made["silenceId"].(string)
	gone := p.call(nobody, http.MethodDelete, path, nil)
	require.Equal(t, 204, gone.status)
	require.Empty(t, gone.body)
	require.Equal(t, 404, p.call(nobody, http.MethodDelete, path, nil).status)
	require.Empty(t, p.array(silence+"/active"))
}

func TestProtectedAlertSurfaces(t *testing.T) {
	t.Parallel()
	const static = "a-long-static-token-for-the-webhook"
	for name, token := range map[string]string{"with a static token": static, "without": ""} {
		t.Run(name, func(t *testing.T) {
			p := start(t, func(o *engine.Options) { o.Server.Access.ProtectOpenSurfaces, o.Alerting.WebhookToken = true, token })
			body := webhookText("firing", alertText("firing", "Hot", "critical"))
			by := func(bearer, method, path string) int {
				r := p.request(t.Context(), nobody, method, path, body)
				r.Header.Set("Authorization", "Bearer "+bearer)
				return p.do(r.WithContext(wrong(r.Context()))).status
			}
			require.Equal(t, 401, p.call(nobody, http.MethodPost, webhook, body).status)
			require.Equal(t, 401, by("", http.MethodPost, webhook))
			require.Equal(t, 401, by(static+"x", http.MethodPost, webhook))
			if token == "" {
				require.Equal(t, 401, by(static, http.MethodPost, webhook))
			} else {
				require.Equal(t, 200, by(static, http.MethodPost, webhook))
			}
			require.Equal(t, 401, by(static, http.MethodDelete, silence+"/x"))
			require.Equal(t, 403, p.call(accounts.Viewer, http.MethodPost, webhook, body).status)
			require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, webhook, body).status)
			require.Equal(t, 401, p.callWrong(nobody, http.MethodGet, history, nil).status)
			require.Equal(t, 200, p.call(accounts.Viewer, http.MethodGet, history, nil).status)
		})
	}
}

// pager is a channel that refuses until it is mended.
type pager struct {
	mended atomic.Bool
	told   chan alerting.Notification
	to     []string
}

func (c *pager) Name() string         { return "sms" }
func (c *pager) Recipients() []string { return c.to }

func (c *pager) Send(_ context.Context, n alerting.Notification) error {
	if !c.mended.Load() {
		return alerting.Permanent(errors.New("number unknown"))
	}
	c.told <- n
	return nil
}

func TestDeadLettersAreListedAndRetried(t *testing.T) {
	t.Parallel()
	c := &pager{told: make(chan alerting.Notification, 10), to: []string{"+491"}}
	p := start(t, func(o *engine.Options) { o.Alerting.Channels = []alerting.Channel{c} })
	const letters, channels = "/api/v1/alerting/deadletters", "/api/v1/alerting/channels"
	failed := p.call(accounts.Admin, http.MethodPost, channels+"/sms/test", nil)
	require.Equal(t, 200, failed.status, "%s", failed.body)
	require.Equal(t, false, failed.object(t)["success"])
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, channels+"/pigeon/test", nil), 404, "CHANNEL_NOT_FOUND")

	p.raise("hot", alarms.Critical)
	list := func() []any {
		return p.call(accounts.Admin, http.MethodGet, letters+"?channel=sms", nil).object(t)["deadLetters"].([]any)
	}
	require.Eventually(t, func() bool { return len(list()) == 1 }, patience, 10*time.Millisecond)
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, letters, nil), 403, "FORBIDDEN")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, channels, nil), 403, "FORBIDDEN")
	letter := list()[0].(map[string]any)
	require.Equal(t, "sms", letter["channel"])
	require.Equal(t, "Critical", letter["severity"])
	require.Contains(t, letter["lastError"], "number unknown")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, channels, nil), 403, "FORBIDDEN")
	require.Contains(t, string(p.call(accounts.Operator, http.MethodGet, channels, nil).body), "number unknown")

	// That people cannot be told is an alarm of its own, until nothing is left to be told.
	standing := func() bool {
		for _, a := range p.alarmList("") {
			if a["source"] == "alerting" {
				require.Contains(t, a["message"], "channel sms")
				require.Equal(t, "Warning", a["severity"])
				return true
			}
		}
		return false
	}
	require.Eventually(t, standing, patience, 10*time.Millisecond)

	c.mended.Store(true)
	require.Equal(t, "+491", letter["recipient"])
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPost, letters+"/"+letter["id"].(string)+"/retry", nil).status)
	require.Equal(t, "P-hot", (<-c.told).Source)
	require.Eventually(t, func() bool { return len(list()) == 0 }, patience, 10*time.Millisecond)
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, letters+"/"+letter["id"].(string)+"/retry", nil), 404, "DEAD_LETTER_NOT_FOUND")
	require.Equal(t, true, p.call(accounts.Admin, http.MethodPost, channels+"/sms/test", nil).object(t)["success"])
	require.Eventually(t, func() bool { return !standing() }, patience, 10*time.Millisecond)
}

func TestAllDeadLettersAreRetried(t *testing.T) {
	t.Parallel()
	c := &pager{told: make(chan alerting.Notification, 10), to: []string{"+491", "+492"}}
	p := start(t, func(o *engine.Options) { o.Alerting.Channels = []alerting.Channel{c} })
	const letters = "/api/v1/alerting/deadletters"
	p.raise("hot", alarms.Critical)
	recipients := func() []string {
		var list []string
		for _, l := range p.call(accounts.Operator, http.MethodGet, letters, nil).object(t)["deadLetters"].([]any) {
			list = append(list, l.(map[string]any)["recipient"].(string))
		}
		return list
	}
	require.Eventually(t, func() bool { return len(recipients()) == 2 }, patience, 10*time.Millisecond)
	require.ElementsMatch(t, c.Recipients(), recipients())
	failed := p.call(accounts.Admin, http.MethodPost, "/api/v1/alerting/channels/sms/test", nil).object(t)
	for _, r := range c.Recipients() {
		require.Contains(t, failed["message"], r)
	}

	require.Equal(t, 401, p.call(nobody, http.MethodPost, letters+"/retry", nil).status)
	require.Equal(t, 403, p.call(accounts.Operator, http.MethodPost, letters+"/retry", nil).status)
	c.mended.Store(true)
	retry := func(query string) any {
		a := p.call(accounts.Admin, http.MethodPost, letters+"/retry"+query, nil)
		require.Equal(t, 200, a.status, "%s", a.body)
		return a.object(t)["retried"]
	}
	require.Equal(t, jsonNumber(0), retry("?channel=email"))
	require.Equal(t, jsonNumber(2), retry(""))
	require.ElementsMatch(t, c.Recipients(), []string{(<-c.told).Recipient, (<-c.told).Recipient})
}

func TestDeadLettersAreDiscarded(t *testing.T) {
	t.Parallel()
	c := &pager{told: make(chan alerting.Notification, 10), to: []string{"+491"}}
	p := start(t, func(o *engine.Options) { o.Alerting.Channels = []alerting.Channel{c} })
	const letters = "/api/v1/alerting/deadletters"
	list := func() []any {
		return p.call(accounts.Operator, http.MethodGet, letters, nil).object(t)["deadLetters"].([]any)
	}
	warning := func() (id string, acknowledged bool) {
		for _, a := range p.alarmList("") {
			if a["source"] == "alerting" {
				return a["id"].(string), a["acknowledgedAt"] != nil
			}
		}
		return "", false
	}
	p.raise("hot", alarms.Critical)
	require.Eventually(t, func() bool { id, _ := warning(); return id != "" }, patience, 10*time.Millisecond)
	first, _ := warning()
	_, err := p.Alarms().Acknowledge(t.Context(), alarms.ByKey(dispatch.DeadLetterKey("sms")), "anna", "")
	require.NoError(t, err)

	// Whoever has acknowledged it hears of the next one.
	p.raise("hotter", alarms.Critical)
	require.Eventually(t, func() bool { id, seen := warning(); return id != "" && id != first && !seen }, patience, 10*time.Millisecond)
	require.Len(t, list(), 2)

	one := letters + "/" + list()[0].(map[string]any)["id"].(string)
	require.Equal(t, 401, p.call(nobody, http.MethodDelete, one, nil).status)
	require.Equal(t, 403, p.call(accounts.Operator, http.MethodDelete, one, nil).status)
	require.Equal(t, 403, p.call(accounts.Operator, http.MethodDelete, letters, nil).status)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, one, nil).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, one, nil), 404, "DEAD_LETTER_NOT_FOUND")
	require.Len(t, list(), 1)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, letters+"?channel=email", nil).status)
	require.Len(t, list(), 1)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, letters+"?channel=sms", nil).status)
	require.Empty(t, list())
	require.Eventually(t, func() bool { id, _ := warning(); return id == "" }, patience, 10*time.Millisecond)
}

func TestTheEngineKeepsItsName(t *testing.T) {
	t.Parallel()
	p := start(t)
	name, err := os.ReadFile(filepath.Join(p.dir, "engine.id"))
	require.NoError(t, err)
	require.NoError(t, uuid.Validate(strings.TrimSpace(string(name))))
}
