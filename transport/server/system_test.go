package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/openapi"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
)

func TestHealthTellsOfEveryCheck(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(nobody, http.MethodGet, "/health", nil)
	require.Equal(t, 200, a.status)
	body := a.object(t)
	require.Equal(t, []string{"results", "status"}, keys(body))
	require.Equal(t, "Degraded", body["status"]) // driver away
	results := body["results"].(map[string]any)
	require.Equal(t, []string{"alarm-journal", "alarm-rules", "alerting", "audit", "bridges", "derived-tags", "devices", "driver", "history", "open-surfaces", "predictive", "storage", "tag-configuration"}, keys(results))
	driver := results["driver"].(map[string]any)
	require.Equal(t, []string{"data", "description", "status"}, keys(driver))
	require.Equal(t, "3 of 4 drivers online", driver["description"])
	require.Equal(t, "Online", driver["data"].(map[string]any)["line"])

	ready := p.call(nobody, http.MethodGet, "/health/ready", nil)
	require.Equal(t, 200, ready.status)
	require.Equal(t, "Healthy", ready.object(t)["status"])
	live := p.call(nobody, http.MethodGet, "/health/live", nil)
	require.JSONEq(t, `{"status":"Healthy","results":{}}`, string(live.body))
}

func TestAStorageThatFailsMakesTheServerNotReady(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) {
		o.Ping = func(context.Context) error { return errors.New("secret cause") }
	})
	for _, path := range []string{"/health", "/health/ready"} {
		a := p.call(nobody, http.MethodGet, path, nil)
		require.Equal(t, 503, a.status)
		require.Equal(t, "Unhealthy", a.object(t)["status"])
		require.NotContains(t, string(a.body), "secret")
	}
	require.Equal(t, 200, p.call(nobody, http.MethodGet, "/health/live", nil).status)
	require.Eventually(t, func() bool {
		r, err := healthpb.NewHealthClient(p.conn()).Check(t.Context(), &healthpb.HealthCheckRequest{})
		return err == nil && r.GetStatus() == healthpb.HealthCheckResponse_NOT_SERVING
	}, patience, 10*time.Millisecond)
	_, err := healthpb.NewHealthClient(p.conn()).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nothing"})
	require.Equal(t, codes.NotFound, status.Code(err))
}

func TestMetricsAndTheDocumentAreServed(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.flag", nil)
	metrics := string(p.call(nobody, http.MethodGet, "/metrics", nil).body)
	require.Contains(t, metrics, `route="/api/v1/tags/{tag_name}"`)
	require.Contains(t, metrics, `driver="line"`)
	require.NotContains(t, metrics, "line.flag")

	require.Equal(t, string(openapi.Document), string(p.call(nobody, http.MethodGet, "/openapi.yaml", nil).body))
	page := p.callWrong(nobody, http.MethodGet, "/docs", nil)
	require.Equal(t, 200, page.status)
	require.Contains(t, string(page.body), "/openapi.yaml")
	require.NotContains(t, string(page.body), "cdn")
	require.Equal(t, 200, p.callWrong(nobody, http.MethodGet, "/docs/swagger-ui.css", nil).status)
}

func TestHistoryIsKeptAndPlotted(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Tags.History.FlushEvery = 5 * time.Millisecond })
	type points struct {
		TagName string
		Points  []struct {
			Timestamp time.Time
			Value     map[string]any
			Quality   string
		}
	}
	read := func(query string) (got points) {
		a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.count/history"+query, nil)
		require.Equal(t, 200, a.status, "%s", a.body)
		require.Equal(t, []string{"points", "tagName"}, keys(a.object(t)))
		require.NoError(t, decodeNumbers(string(a.body), &got))
		return got
	}
	for i := range 30 {
		p.line.set("count", tags.IntValue(int64(i)))
		require.Eventually(t, func() bool {
			all := read("").Points
			return len(all) > 0 && jsonText(t, all[len(all)-1].Value) == `{"int64Value":`+jsonText(t, i)+`}`
		}, patience, time.Millisecond)
	}
	all := read("")
	require.Equal(t, "line.count", all.TagName)
	require.GreaterOrEqual(t, len(all.Points), 30)
	require.Equal(t, "Good", all.Points[5].Quality)
	for i := 1; i < len(all.Points); i++ {
		require.True(t, all.Points[i-1].Timestamp.Before(all.Points[i].Timestamp))
	}
	few := read("?maxPoints=5").Points
	require.LessOrEqual(t, len(few), 5)
	at := func(i int) string {
		return url.QueryEscape(all.Points[i].Timestamp.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano))
	}
	require.Equal(t, all.Points[3:7], read("?start="+at(3)+"&end="+at(7)).Points)
	require.Empty(t, read("?start=2020-01-01T00:00:00Z&end=2020-01-02T00:00:00Z").Points)
}

func TestHistoryRefusesBadRequests(t *testing.T) {
	t.Parallel()
	p := start(t)
	for query, code := range map[string]string{
		"?start=2020-01-02T00:00:00Z&end=2020-01-01T00:00:00Z": "INVALID_TIME_RANGE",
		"?start=2020-01-02T00:00:00Z&end=2020-01-02T00:00:00Z": "INVALID_TIME_RANGE",
		"?start=2999-01-01T00:00:00Z":                          "INVALID_TIME_RANGE",
		"?start=yesterday":                                     "INVALID_REQUEST",
		"?end=2020-01-01T00:00:00":                             "INVALID_REQUEST",
		"?maxPoints=4":                                         "INVALID_REQUEST",
		"?maxPoints=0":                                         "INVALID_REQUEST",
		"?maxPoints=-1":                                        "INVALID_REQUEST",
		"?maxPoints=100001":                                    "INVALID_REQUEST",
	} {
		body := requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.flag/history"+query, nil), 400, code)
		if code == "INVALID_REQUEST" {
			name, _, _ := strings.Cut(query[1:], "=")
			require.Equal(t, name, body["errors"].([]any)[0].(map[string]any)["field"], query)
		}
	}
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/absent/history", nil), 404, "TAG_NOT_FOUND")

	off := start(t, func(o *engine.Options) { o.Tags.History.Disabled = true })
	require.JSONEq(t, `{"tagName":"line.flag","points":[]}`, string(off.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.flag/history", nil).body))
}

// A host may forget Start: the handler answers, and health shows that the jobs do not run.
func TestHealthNamesAForgottenStart(t *testing.T) {
	t.Parallel()
	s, err := server.New(t.Context(), server.Options{Authenticator: auth.AuthenticatorFunc(byHeader)})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	for _, path := range []string{"/health", "/health/ready"} {
		status, body := get(path)
		require.Equal(t, http.StatusServiceUnavailable, status, path)
		require.JSONEq(t, `{"status": "Unhealthy", "results": {"server": {"status": "Unhealthy", "description": "not started", "data": {}}}}`, body)
	}
	status, _ := get("/health/live")
	require.Equal(t, http.StatusOK, status)
	s.Start()
	for _, path := range []string{"/health", "/health/ready"} {
		status, body := get(path)
		require.Equal(t, http.StatusOK, status, body)
	}
}

func TestAnEngineTellsItsNameAndVersion(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Name, o.Server.Version = `Plant "North"`, "1.2.3" })
	a := p.get("/api/v1/engine")
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.JSONEq(t, `{"name":"Plant \"North\"","version":"1.2.3"}`, string(a.body))
	require.Equal(t, 401, p.callWrong(nobody, http.MethodGet, "/api/v1/engine", nil).status, "strangers are told no version")
	own := start(t).get("/api/v1/engine").object(t)
	require.Empty(t, own["name"])
	require.NotEmpty(t, own["version"])
}
