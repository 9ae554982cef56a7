package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/transport/middleware"
)

type httpKey struct {
	method, route string
	class         int // first digit of the status
}

type httpSeries struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// HTTP counts and times requests by their route pattern. It must be used on the chi router itself
// (router.Use), as the pattern is known only there; what no route takes counts under the route "none".
func (m *Metrics) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, start := middleware.Record(w), time.Now()
		m.httpInFlight.Inc()
		defer func() {
			m.httpInFlight.Dec()
			s := m.series(httpKey{knownMethod(r.Method), route(r), rec.Status() / 100})
			s.requests.Inc()
			if !isStream(rec) {
				s.duration.Observe(time.Since(start).Seconds())
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

func (m *Metrics) series(key httpKey) httpSeries {
	if s, ok := m.httpSeries.Load(key); ok {
		return s.(httpSeries)
	}
	s := httpSeries{
		requests: m.httpRequests.WithLabelValues(key.method, key.route, strconv.Itoa(key.class)+"xx"),
		duration: m.httpDuration.WithLabelValues(key.method, key.route),
	}
	m.httpSeries.Store(key, s)
	return s
}

// route returns the pattern of the matched route. Paths would make too many series.
func route(r *http.Request) string {
	if rctx := chi.RouteContext(r.Context()); rctx != nil {
		if pattern := rctx.RoutePattern(); pattern != "" {
			return pattern
		}
	}
	return "none"
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// isStream reports whether the client decides how long an answer lasts. Its duration is meaningless.
func isStream(rec *middleware.Recorder) bool {
	return rec.Status() == http.StatusSwitchingProtocols ||
		strings.HasPrefix(rec.Header().Get("Content-Type"), "text/event-stream")
}
