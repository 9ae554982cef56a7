package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
)

func upper(id string) string { return strings.ToUpper(id) }

// TestErrorsOfAlarmsNameTheParameter holds every refusal of a parameter to its list of errors.
func TestErrorsOfAlarmsNameTheParameter(t *testing.T) {
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
	p := start(t)
	s := map[string]any{"sourceType": "*", "sourceIdPattern": "*", "reason": "test",
		"startsAt": "2026-01-31T12:00:00Z", "endsAt": "2026-01-31T13:00:00+00:00"}
	for _, role := range []accounts.Role{nobody, accounts.Operator} {
		a := p.call(role, http.MethodPost, silence, s)
		require.Equal(t, 201, a.status, "%s", a.body)
		require.Equal(t, "Admin", a.object(t)["createdBy"])
	}
	s["createdBy"] = "anna"
	require.Equal(t, "anna", p.call(accounts.Operator, http.MethodPost, silence, s).object(t)["createdBy"])
}

// TestThePlusOfAnOffset asks for ranges whose + is not encoded.
func TestThePlusOfAnOffset(t *testing.T) {
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	zone := time.FixedZone("", 9*3600)
	from, to := o.RaisedAt.In(zone).Add(-time.Minute).Format(time.RFC3339), o.RaisedAt.In(zone).Add(time.Minute).Format(time.RFC3339)
	for _, plus := range []string{"+", "%20", "%2B"} {
		query := strings.NewReplacer("+", plus).Replace("?start=" + from + "&end=" + to)
		a := p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/alarms/history"+query, nil)
		require.Equal(t, 200, a.status, "%s: %s", query, a.body)
		require.Equal(t, jsonNumber(1), a.object(t)["totalCount"], query)
	}
	p.post(1, 0, webhookText("firing", alertText("firing", "a b", "critical")))
	require.Len(t, p.records("?source="+url.QueryEscape("pump-7")+"&startDate="+url.QueryEscape(started)), 1)
}

func TestAcknowledgingACodeTakesNoBodyOfAnotherType(t *testing.T) {
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	r := p.request(wrong(t.Context()), accounts.Operator, http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", "seen")
	r.Header.Set("Content-Type", "text/plain")
	requireProblem(t, p.do(r), 415, "UNSUPPORTED_MEDIA_TYPE")
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", nil).status)
}
