package metrics

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Buckets in seconds: from a value out of the cache to a slow device.
var (
	requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	storeBuckets   = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

// Options of Metrics.
type Options struct {
	Version string // of the program, for otkit_build_info
}

// Metrics is one server's metrics. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	httpRequests *prometheus.CounterVec
	httpDuration *prometheus.HistogramVec
	httpInFlight prometheus.Gauge
	httpSeries   sync.Map // httpKey -> httpSeries, as looking labels up costs more than counting

	grpcRequests *prometheus.CounterVec
	grpcDuration *prometheus.HistogramVec
	grpcInFlight prometheus.Gauge
	grpcMethods  sync.Map // full method -> *grpcMethod

	storeDuration *prometheus.HistogramVec
	storeErrors   *prometheus.CounterVec
}

// New returns the metrics of one server.
func New(o Options) *Metrics {
	m := &Metrics{
		registry:      prometheus.NewRegistry(),
		httpRequests:  counters("http_requests_total", "Answered HTTP requests.", "method", "route", "status"),
		httpDuration:  histograms("http_request_duration_seconds", "Time to the end of the answer, streams left out.", requestBuckets, "method", "route"),
		httpInFlight:  gauge("http_requests_in_flight", "HTTP requests being handled, streams included."),
		grpcRequests:  counters("grpc_requests_total", "Ended gRPC calls.", "method", "code"),
		grpcDuration:  histograms("grpc_request_duration_seconds", "Time of unary gRPC calls.", requestBuckets, "method"),
		grpcInFlight:  gauge("grpc_requests_in_flight", "gRPC calls being handled, streams included."),
		storeDuration: histograms("store_operation_duration_seconds", "Time of store operations.", storeBuckets, "operation"),
		storeErrors:   counters("store_operation_errors_total", "Store operations that failed.", "operation"),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "otkit", Name: "build_info", Help: "Always 1; the labels tell what runs.",
		ConstLabels: prometheus.Labels{"version": strings.ToValidUTF8(o.Version, "?"), "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister( // panics on a name used twice only, and they stand right here
		m.httpRequests, m.httpDuration, m.httpInFlight, m.grpcRequests, m.grpcDuration, m.grpcInFlight,
		m.storeDuration, m.storeErrors, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Register adds a collector of the embedder's own.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Handler answers /metrics.
func (m *Metrics) Handler() http.Handler {
	// One collector that fails must not hide the others.
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// ObserveStore counts one store operation, such as "history.append". The names must be few and fixed.
func (m *Metrics) ObserveStore(operation string, d time.Duration, err error) {
	m.storeDuration.WithLabelValues(operation).Observe(d.Seconds())
	if err != nil {
		m.storeErrors.WithLabelValues(operation).Inc()
	}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "otkit", Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "otkit", Name: name, Help: help, Buckets: buckets}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "otkit", Name: name, Help: help})
}
