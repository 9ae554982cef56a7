package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/transport/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func jsonLog() (*slog.Logger, *bytes.Buffer) {
	var buf bytes.Buffer
	return slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug})), &buf
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	tests := map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                        id,
		"cc-" + id + "-00f067aa0ba902b7-01-what-the-future-brings": id,
		"":                                    "new",
		"00-" + id + "-00f067aa0ba902b7-01-x": "new",
		"ff-" + id + "-00f067aa0ba902b7-01":   "new",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "new",
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":      "new",
		"00-" + id + "\n-0f067aa0ba902b7-01":                      "new",
		"0\"-" + id + "-00f067aa0ba902b7-01":                      "new",
	}
	for header, want := range tests {
		var got string
		h := Trace(TraceOptions{NewID: func() string { return "new" }})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = problem.TraceID(r.Context())
		}))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("traceparent", header)
		serve(h, r)
		require.Equal(t, want, got, header)
	}

	spans := TraceOptions{SpanTraceID: func(context.Context) string { return "span" }}
	require.Equal(t, "span", problem.TraceID(spans.Context(t.Context(), "00-"+id+"-00f067aa0ba902b7-01")), "the span goes first")
}

func TestAccessLog(t *testing.T) {
	log, out := jsonLog()
	h := Trace(TraceOptions{NewID: func() string { return "T" }})(AccessLog(log)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.SetSubject(r.Context(), "alice")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "12345")
	})))
	serve(h, httptest.NewRequest("POST", "/hubs/alarms?id=7&access_token=SECRET&page=2", nil))
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Positive(t, line["duration"])
	delete(line, "duration")
	delete(line, "time")
	require.Equal(t, map[string]any{"level": "INFO", "msg": "request", "method": "POST", "status": 202.0, "bytes": 5.0,
		"path": "/hubs/alarms?id=7&access_token=***&page=2", "remote": "192.0.2.1:1234", "subject": "alice", "traceId": "T"}, line)

	out.Reset()
	serve(h, httptest.NewRequest("GET", "/health/live", nil))
	require.Contains(t, out.String(), `"level":"DEBUG"`)
}

func TestSecretsInQueriesAreMasked(t *testing.T) {
	for query, want := range map[string]string{
		"a=1&b=2":                          "a=1&b=2",
		"access_token=SECRET":              "access_token=***",
		"ACCESS_TOKEN=SECRET":              "ACCESS_TOKEN=***",
		"access%5Ftoken=SECRET&a=%20":      "access%5Ftoken=***&a=%20",
		"%zz=SECRET":                       "%zz=***",
		"a=1;access_token=SECRET":          "a=1&access_token=***",
		"password=SECRET&access_token":     "password=***&access_token=***",
		"tagNames=token.count&pageSize=50": "tagNames=token.count&pageSize=50",
	} {
		require.Equal(t, want, maskQuery(query), query)
	}
}

func TestRecover(t *testing.T) {
	log, out := jsonLog()
	wrap := func(h http.HandlerFunc) http.Handler { return Trace(TraceOptions{Logger: log})(Recover(h)) }

	w := serve(wrap(func(http.ResponseWriter, *http.Request) { panic("SECRET") }), httptest.NewRequest("GET", "/api/v1/aas", nil))
	require.Equal(t, 500, w.Code)
	var body struct{ ErrorCode, Message, TraceID string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, "INTERNAL_ERROR", body.ErrorCode)
	require.NotContains(t, w.Body.String(), "SECRET")
	require.Contains(t, out.String(), "SECRET")
	require.Contains(t, out.String(), body.TraceID)
	require.Contains(t, out.String(), "middleware_test.go", "the stack is logged")

	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		serve(wrap(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), httptest.NewRequest("GET", "/", nil))
	})
	out.Reset()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		serve(wrap(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half an ans")
			panic("late")
		}), httptest.NewRequest("GET", "/", nil))
	}, "a begun answer is cut, not completed")
	require.Contains(t, out.String(), "late")
}

func TestRecorderKeepsTheConnectionsAbilities(t *testing.T) {
	log, out := jsonLog()
	var handlers sync.WaitGroup // the server does not wait for those that took their connection over
	logged := AccessLog(log)(Recover(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hijack" {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
				_ = rw.Flush()
				_ = c.Close()
			}
			return
		}
		_, _ = io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		if http.NewResponseController(w).Flush() == nil && Stream(w) == nil {
			_, _ = io.WriteString(w, "second")
		}
	})))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		logged.ServeHTTP(w, r)
	}))
	for path, status := range map[string]int{"/flush": 200, "/hijack": 101} {
		resp, err := http.Get(server.URL + path)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, status, resp.StatusCode)
		if path == "/flush" {
			require.Equal(t, "firstsecond", string(body))
			require.Equal(t, []string{"chunked"}, resp.TransferEncoding)
		}
	}
	server.Close()
	handlers.Wait()
	http.DefaultClient.CloseIdleConnections()
	require.Contains(t, out.String(), `"status":101`)
}

func TestSecurityHeaders(t *testing.T) {
	h := SecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
	})) //nolint:bodyclose // a recorder
	got := serve(h, httptest.NewRequest("GET", "/", nil)).Header()
	require.Equal(t, "nosniff", got.Get("X-Content-Type-Options"))
	require.Equal(t, "DENY", got.Get("X-Frame-Options"))
	require.Equal(t, "no-referrer", got.Get("Referrer-Policy"))
	require.Equal(t, []string{"max-age=60"}, got.Values("Cache-Control"))
}

// Who is refused at a scrape has a line, a scrape that is answered only at Debug.
func TestARefusedScrapeHasALine(t *testing.T) {
	for status, lines := range map[int]int{http.StatusOK: 0, http.StatusUnauthorized: 1, http.StatusTooManyRequests: 1, http.StatusServiceUnavailable: 0} {
		var buf bytes.Buffer
		log := slog.New(slog.NewTextHandler(&buf, nil))
		h := AccessLog(log)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Equal(t, lines, strings.Count(buf.String(), "path=/metrics"), "%d: %s", status, buf.String())
	}
}
