package server_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/engine"
)

func upper(id string) string { return strings.ToUpper(id) }

// TestErrorsOfAlarmsNameTheParameter holds every refusal of a parameter to its list of errors.
func TestErrorsOfAlarmsNameTheParameter(t *testing.T) {
	t.Parallel()
	p := start(t)
	for path, want := range map[string][2]string{
		"/api/v1/alarms?page=0":                                  {"INVALID_REQUEST", "page"},
		"/api/v1/alarms?pageSize=0":                              {"INVALID_REQUEST", "pageSize"},
		"/api/v1/alarms?pageSize=501":                            {"PAGE_SIZE_EXCEEDED", "pageSize"},
		"/api/v1/alarms?severityFilter=Fatal":                    {"INVALID_REQUEST", "severityFilter"},
		"/api/v1/alarms/history?" + lastHour() + "&pageSize=501": {"PAGE_SIZE_EXCEEDED", "pageSize"},
		"/api/v1.0/alarms/history?limit=0":                       {"INVALID_REQUEST", "limit"},
		"/api/v1.0/alarms/history?limit=501":                     {"PAGE_SIZE_EXCEEDED", "limit"},
		"/api/v1/alarms/0/resolutions":                           {"INVALID_REQUEST", "code"},
		"/api/v1.0/alarms/0/resolutions":                         {"INVALID_REQUEST", "code"},
	} {
		body := requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, path, nil), 400, want[0])
		require.Equal(t, []string{want[1]}, fields(body), path)
	}
	for _, member := range []string{"startsAt", "endsAt"} {
		s := map[string]any{"sourceType": "*", "sourceIdPattern": "*", "reason": "test",
			"startsAt": "2026-01-31T12:00:00Z", "endsAt": "2026-01-31T13:00:00Z"}
		s[member] = "yesterday"
		body := requireProblem(t, p.callWrong(nobody, http.MethodPost, silence, s), 400, "INVALID_SILENCE")
		require.Equal(t, []string{member}, fields(body))
	}
}

func TestWhoMadeASilence(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := map[string]any{"sourceType": "*", "sourceIdPattern": "*", "reason": "test",
		"startsAt": "2026-01-31T12:00:00Z", "endsAt": "2026-01-31T13:00:00+00:00"}
	for role, account := range map[accounts.Role]string{nobody: "", accounts.Operator: "operator"} {
		a := p.call(role, http.MethodPost, silence, s)
		require.Equal(t, 201, a.status, "%s", a.body)
		require.Equal(t, "Admin", a.object(t)["createdBy"])
		require.Equal(t, account, a.object(t)["recordedBy"])
	}
	s["startsAt"], s["endsAt"] = "2026-01-31T12:00:00.000+0000", "2026-01-31T14:00:00+0100"
	a := p.callWrong(nobody, http.MethodPost, silence, s)
	require.Equal(t, 201, a.status, "%s", a.body)
	require.Equal(t, "2026-01-31T13:00:00Z", a.object(t)["endsAt"])
	s["startsAt"], s["endsAt"], s["createdBy"] = "2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z", "anna"
	made := p.call(accounts.Operator, http.MethodPost, silence, s).object(t)
	require.Equal(t, "anna", made["createdBy"])
	require.Equal(t, "operator", made["recordedBy"], "what a caller sends is not who it is")
	recorded := map[any]int{}
	for _, one := range p.array(silence) {
		recorded[one.(map[string]any)["recordedBy"]]++
	}
	require.Equal(t, map[any]int{"": 2, "operator": 2}, recorded)
}

// TestThePlusOfAnOffset asks for ranges whose + is not encoded.
func TestThePlusOfAnOffset(t *testing.T) {
	t.Parallel()
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	zone := time.FixedZone("", 9*3600)
	from, to := o.RaisedAt.In(zone).Add(-time.Minute).Format(time.RFC3339), o.RaisedAt.In(zone).Add(time.Minute).Format(time.RFC3339)
	for _, r := range []*strings.Replacer{strings.NewReplacer("+", "+"), strings.NewReplacer("+", "%20"), strings.NewReplacer("+", "%2B"),
		strings.NewReplacer("+09:00", "+0900"), strings.NewReplacer("+09:00", "%2B0900"), strings.NewReplacer("+09:00", "%200900", ":", "%3A")} {
		query := r.Replace("?start=" + from + "&end=" + to)
		a := p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/alarms/history"+query, nil)
		require.Equal(t, 200, a.status, "%s: %s", query, a.body)
		require.Equal(t, jsonNumber(1), a.object(t)["totalCount"], query)
	}
	p.post(1, 0, webhookText("firing", alertText("firing", "a b", "critical")))
	require.Len(t, p.records("?source="+url.QueryEscape("pump-7")+"&startDate="+url.QueryEscape(started)), 1)
}

func TestAcknowledgingACodeTakesNoBodyOfAnotherType(t *testing.T) {
	t.Parallel()
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	r := p.request(wrong(t.Context()), accounts.Operator, http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", "seen")
	r.Header.Set("Content-Type", "text/plain")
	requireProblem(t, p.do(r), 415, "UNSUPPORTED_MEDIA_TYPE")
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", nil).status)
}

// silentAlarms are alarms whose store does not say what has become of a write once it is silent.
type silentAlarms struct {
	alarms.Store
	silent atomic.Bool
}

func (s *silentAlarms) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if s.silent.Load() {
		return alarms.ErrOutcomeUnknown
	}
	return s.Store.Write(ctx, refs, change)
}

// TestAlarmsWhoseStoreIsSilent has every operation that writes to the store say so, and its document know it.
func TestAlarmsWhoseStoreIsSilent(t *testing.T) {
	t.Parallel()
	store := &silentAlarms{Store: alarms.NewMemory()}
	p := start(t, func(o *engine.Options) { o.Alarms.Alarms = store })
	o := p.raise("hot", alarms.Warning)
	store.silent.Store(true)
	unknown := func(method, path string, body any) {
		t.Helper()
		requireProblem(t, p.call(accounts.Admin, method, path, body), 503, "OUTCOME_UNKNOWN")
	}
	unknown(http.MethodPost, "/api/v1/alarms/"+o.ID+"/acknowledge", nil)
	unknown(http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", nil)
	unknown(http.MethodPost, "/api/v1/alarms/"+codeOf(o)+"/shelve", map[string]any{"minutes": 5, "comment": "test"})
	for _, path := range []string{"unshelve", "suppress", "unsuppress", "out-of-service", "in-service", "reset"} {
		unknown(http.MethodPost, "/api/v1/alarms/"+codeOf(o)+"/"+path, map[string]any{"comment": "test"})
	}
	// The rule is there and its alarm has no code yet, which whoever asks for the rule has made.
	rule := map[string]any{"id": "a", "tagName": "line.level", "kind": "BadQuality", "severity": "Info"}
	unknown(http.MethodPost, ruleBase, rule)
	unknown(http.MethodGet, ruleBase, nil)
	unknown(http.MethodGet, ruleBase+"/a", nil)
	unknown(http.MethodPut, ruleBase+"/a", rule)
	requireProblem(t, p.call(nobody, http.MethodPost, webhook, webhookText("firing", alertText("firing", "Hot", "critical"))), 500, "STORAGE_FAILED")
}
