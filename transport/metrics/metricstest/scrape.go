package metricstest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

// Scrape returns what collectors show, in the text form of Prometheus: "name{labels}" to value. It fails the test if
// a name breaks the rules of Prometheus or has no help.
func Scrape(t testing.TB, collectors ...prometheus.Collector) map[string]string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		require.NoError(t, registry.Register(c))
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return Samples(w.Body.String())
}

// Samples returns the samples of a text in the form of Prometheus.
func Samples(text string) map[string]string {
	samples := make(map[string]string)
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			i := strings.LastIndexByte(line, ' ')
			samples[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return samples
}
