package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/transport/metrics/metricstest"
	"github.com/otkit/otkit/transport/middleware"
)

// scrape returns the samples of the exposition: "name{labels}" -> value.
func scrape(t *testing.T, m *Metrics) map[string]string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	return metricstest.Samples(w.Body.String())
}

func TestHTTP(t *testing.T) {
	m := New(Options{})
	router := chi.NewRouter()
	router.Use(m.HTTP, middleware.Recover)
	middleware.Fallbacks(router)
	router.Get("/tags/{name}", func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "1", scrape(t, m)["otkit_http_requests_in_flight"])
		if chi.URLParam(r, "name") == "bad" {
			panic("bad")
		}
	})
	router.Route("/bridge", func(r chi.Router) {
		r.Post("/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
	})
	router.Get("/stream", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") })
	for _, call := range []string{"GET /tags/a", "GET /tags/b", "HEAD /tags/a", "GET /tags/bad", "POST /bridge/7", "GET /x/y/z", "BREW /x", "GET /stream"} {
		method, path, _ := strings.Cut(call, " ")
		router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
	}
	got := scrape(t, m)
	for series, want := range map[string]string{
		`otkit_http_requests_total{method="GET",route="/tags/{name}",status="2xx"}`:    "2",
		`otkit_http_requests_total{method="HEAD",route="/tags/{name}",status="2xx"}`:   "1",
		`otkit_http_requests_total{method="GET",route="/tags/{name}",status="5xx"}`:    "1",
		`otkit_http_requests_total{method="POST",route="/bridge/{id}",status="4xx"}`:   "1",
		`otkit_http_requests_total{method="GET",route="none",status="4xx"}`:            "1",
		`otkit_http_requests_total{method="other",route="none",status="4xx"}`:          "1",
		`otkit_http_requests_total{method="GET",route="/stream",status="2xx"}`:         "1",
		`otkit_http_request_duration_seconds_count{method="GET",route="/tags/{name}"}`: "3",
		`otkit_http_requests_in_flight`:                                                "0",
	} {
		require.Equal(t, want, got[series], series)
	}
	if count, ok := got[`otkit_http_request_duration_seconds_count{method="GET",route="/stream"}`]; ok {
		require.Equal(t, "0", count, "how long a stream lasts is no latency")
	}
}

func TestGRPC(t *testing.T) {
	m := New(Options{})
	fail := status.Error(codes.NotFound, "no")
	for _, err := range []error{nil, nil, fail, errors.New("x"), status.Error(codes.Code(99), "x")} {
		_, got := m.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/p/Read"},
			func(context.Context, any) (any, error) {
				require.Equal(t, "1", scrape(t, m)["otkit_grpc_requests_in_flight"])
				return nil, err
			})
		require.Equal(t, err, got)
	}
	require.Equal(t, fail, m.Stream(nil, nil, &grpc.StreamServerInfo{FullMethod: "/p/Subscribe"},
		func(any, grpc.ServerStream) error { return fail }))
	got := scrape(t, m)
	for series, want := range map[string]string{
		`otkit_grpc_requests_total{code="OK",method="/p/Read"}`:            "2",
		`otkit_grpc_requests_total{code="NotFound",method="/p/Read"}`:      "1",
		`otkit_grpc_requests_total{code="Unknown",method="/p/Read"}`:       "2",
		`otkit_grpc_requests_total{code="NotFound",method="/p/Subscribe"}`: "1",
		`otkit_grpc_request_duration_seconds_count{method="/p/Read"}`:      "5",
		`otkit_grpc_request_duration_seconds_count{method="/p/Subscribe"}`: "",
		`otkit_grpc_requests_in_flight`:                                    "0",
	} {
		require.Equal(t, want, got[series], series)
	}
}

func TestStore(t *testing.T) {
	m := New(Options{})
	m.ObserveStore("history.append", 3*time.Millisecond, nil)
	m.ObserveStore("history.append", 2*time.Second, errors.New("disk is full"))
	got := scrape(t, m)
	require.Equal(t, "2", got[`otkit_store_operation_duration_seconds_count{operation="history.append"}`])
	require.Equal(t, "2.003", got[`otkit_store_operation_duration_seconds_sum{operation="history.append"}`])
	require.Equal(t, "1", got[`otkit_store_operation_duration_seconds_bucket{operation="history.append",le="0.005"}`])
	require.Equal(t, "1", got[`otkit_store_operation_errors_total{operation="history.append"}`])
}

// bad is a collector that shows one series twice.
type bad struct{}

var badDesc = prometheus.NewDesc("bad", "", nil, nil)

func (bad) Describe(out chan<- *prometheus.Desc) { out <- badDesc }

func (bad) Collect(out chan<- prometheus.Metric) {
	for range 2 {
		out <- prometheus.MustNewConstMetric(badDesc, prometheus.GaugeValue, 1)
	}
}

func TestOneBadCollectorDoesNotHideTheOthers(t *testing.T) {
	m := New(Options{Version: "1.2.3"})
	require.NoError(t, m.Register(bad{}))
	require.Error(t, m.Register(bad{}), "once is enough")
	got := scrape(t, m)
	require.Contains(t, got, "otkit_http_requests_in_flight")
	require.Contains(t, got, "go_goroutines")
	require.Contains(t, got, "process_open_fds")
	found := false
	for series := range got {
		found = found || strings.HasPrefix(series, "otkit_build_info{") && strings.Contains(series, `version="1.2.3"`)
	}
	require.True(t, found)
}

// TestNamesAndDocumentation holds the names against Prometheus' rules and the package's own list.
func TestNamesAndDocumentation(t *testing.T) {
	m := New(Options{})
	m.ObserveStore("x", 0, errors.New("x"))
	m.httpRequests.WithLabelValues("GET", "/", "2xx")
	m.httpDuration.WithLabelValues("GET", "/")
	_, _ = m.Unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { return nil, nil })
	families, err := m.registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)

	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "otkit_") {
			continue
		}
		require.Contains(t, string(doc), f.GetName(), "%s is not in doc.go", f.GetName())
		require.NotEmpty(t, f.GetHelp())
	}
}

func TestTwoServersInOneProcess(t *testing.T) {
	a, b := New(Options{}), New(Options{})
	a.ObserveStore("x", time.Second, nil)
	require.NotContains(t, fmt.Sprint(scrape(t, b)), "otkit_store_operation_duration_seconds_count")
	require.NoError(t, a.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "mine"})))
	require.NotContains(t, scrape(t, b), "mine")
}

func BenchmarkHTTP(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("metrics=%t", with), func(b *testing.B) {
			m, router := New(Options{}), chi.NewRouter()
			if with {
				router.Use(m.HTTP)
			}
			router.Get("/api/v1/tags/{tag_name}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
			r, w := httptest.NewRequest("GET", "/api/v1/tags/sim.temperature", nil), httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				router.ServeHTTP(w, r)
			}
		})
	}
}

func BenchmarkUnary(b *testing.B) {
	m := New(Options{})
	info := &grpc.UnaryServerInfo{FullMethod: "/platform.v1.PlatformApi/ReadTag"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		_, _ = m.Unary(b.Context(), nil, info, handler)
	}
}
