package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
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

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/middleware"
)

// scrape returns the samples of the exposition: "name{labels}" -> value.
func scrape(t *testing.T, m *Metrics) map[string]string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	samples := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if line[0] != '#' {
			i := strings.LastIndexByte(line, ' ')
			samples[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return samples
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

func statuses() []tags.DriverStatus {
	return []tags.DriverStatus{
		{ID: "plc1", Type: "Modbus", State: tags.DriverOnline, Tags: 7, Reads: 100, ReadErrors: 3, Samples: 700, Changes: 20, Writes: 5,
			WriteErrors: 1, Connects: 2, RoundTrip: 15 * time.Millisecond, ConnectedSince: time.Unix(1700000000, 0), QueuedWrites: 4,
			RoundTripMean: 20 * time.Millisecond, RoundTripMax: 30 * time.Millisecond,
			Cycles:   []tags.Cycle{{Wanted: time.Second, Reached: 10 * time.Second, Tags: 100, Requests: 99}},
			Breakers: []tags.Breaker{{Unit: "1", State: tags.BreakerClosed}, {Unit: "2", State: tags.BreakerOpen, Failures: 4}}},
		{ID: "bad\xffid", Type: "Simulation", State: tags.DriverBackoff, LastErrorAt: time.Unix(1700000001, 500e6)},
	}
}

func TestDrivers(t *testing.T) {
	m := New(Options{})
	require.NoError(t, m.AddDrivers(statuses))
	require.Error(t, m.AddDrivers(statuses), "once is enough")
	got := scrape(t, m)
	for series, want := range map[string]string{
		`otkit_driver_state{driver="plc1",state="Online",type="Modbus"}`:                    "1",
		`otkit_driver_state{driver="plc1",state="Backoff",type="Modbus"}`:                   "0",
		`otkit_driver_state{driver="plc1",state="NotResponding",type="Modbus"}`:             "0",
		`otkit_driver_state{driver="bad?id",state="Backoff",type="Simulation"}`:             "1",
		`otkit_driver_tags{driver="plc1",type="Modbus"}`:                                    "7",
		`otkit_driver_reads_total{driver="plc1",type="Modbus"}`:                             "100",
		`otkit_driver_read_errors_total{driver="plc1",type="Modbus"}`:                       "3",
		`otkit_driver_samples_total{driver="plc1",type="Modbus"}`:                           "700",
		`otkit_driver_changes_total{driver="plc1",type="Modbus"}`:                           "20",
		`otkit_driver_writes_total{driver="plc1",type="Modbus"}`:                            "5",
		`otkit_driver_write_errors_total{driver="plc1",type="Modbus"}`:                      "1",
		`otkit_driver_connects_total{driver="plc1",type="Modbus"}`:                          "2",
		`otkit_driver_queued_writes{driver="plc1",type="Modbus"}`:                           "4",
		`otkit_driver_round_trip_seconds{driver="plc1",type="Modbus"}`:                      "0.015",
		`otkit_driver_round_trip_mean_seconds{driver="plc1",type="Modbus"}`:                 "0.02",
		`otkit_driver_round_trip_max_seconds{driver="plc1",type="Modbus"}`:                  "0.03",
		`otkit_driver_cycle_seconds{driver="plc1",interval="1s",type="Modbus"}`:             "10",
		`otkit_driver_cycle_wanted_seconds{driver="plc1",interval="1s",type="Modbus"}`:      "1",
		`otkit_driver_cycle_requests{driver="plc1",interval="1s",type="Modbus"}`:            "99",
		`otkit_driver_unit_left_out{driver="plc1",type="Modbus",unit="1"}`:                  "0",
		`otkit_driver_unit_left_out{driver="plc1",type="Modbus",unit="2"}`:                  "1",
		`otkit_driver_connected_since_timestamp_seconds{driver="plc1",type="Modbus"}`:       "1.7e+09",
		`otkit_driver_connected_since_timestamp_seconds{driver="bad?id",type="Simulation"}`: "",
		`otkit_driver_last_error_timestamp_seconds{driver="bad?id",type="Simulation"}`:      "1.7000000015e+09",
		`otkit_driver_last_error_timestamp_seconds{driver="plc1",type="Modbus"}`:            "",
	} {
		require.Equal(t, want, got[series], series)
	}
}

func TestOneBadCollectorDoesNotHideTheOthers(t *testing.T) {
	m := New(Options{Version: "1.2.3"})
	require.NoError(t, m.AddDrivers(func() []tags.DriverStatus { return append(statuses(), statuses()...) })) // ids twice
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
	require.NoError(t, m.AddDrivers(statuses))
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
	short := regexp.MustCompile(`^otkit_driver_([a-z_]+)_total$`)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "otkit_") {
			continue
		}
		named := strings.Contains(string(doc), f.GetName())
		if match := short.FindStringSubmatch(f.GetName()); match != nil {
			named = named || strings.Contains(string(doc), match[1])
		}
		require.True(t, named, "%s is not in doc.go", f.GetName())
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

// dispatcher is a dispatcher as the metrics see it.
type dispatcher struct{ err error }

func (d dispatcher) Err() error { return d.err }

func (d dispatcher) Channels() []alerting.ChannelStatus {
	return []alerting.ChannelStatus{{Name: "email", Sent: 7, Failed: 2, Recipients: 3, Failing: 1, PausedUntil: time.Now()}}
}

func TestAlertingTellsWhetherItWorks(t *testing.T) {
	for want, err := range map[string]error{"1": nil, "0": errors.New("disk full")} {
		m := New(Options{})
		require.NoError(t, m.AddAlerting(dispatcher{err}))
		got := scrape(t, m)
		require.Equal(t, want, got["otkit_alerting_dispatching"])
		require.Equal(t, "7", got[`otkit_alerting_messages_sent_total{channel="email"}`])
		require.Equal(t, "2", got[`otkit_alerting_attempts_failed_total{channel="email"}`])
		require.Equal(t, "1", got[`otkit_alerting_recipients_failing{channel="email"}`])
		require.Equal(t, "1", got[`otkit_alerting_channel_paused{channel="email"}`])
	}
}

type journal int

func (j journal) Unjournaled() (int, time.Time) { return int(j), time.Time{} }

func TestAlarmsThatAreNotJournaledAreCounted(t *testing.T) {
	m := New(Options{})
	require.NoError(t, m.AddJournal(journal(3)))
	require.Equal(t, "3", scrape(t, m)["otkit_alarms_unjournaled"])
}
