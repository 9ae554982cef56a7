package metricstest_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/metrics/metricstest"
)

// A test of a collector compares what Prometheus would read.
func ExampleScrape() {
	_ = func(t *testing.T) { // TestMetrics of your package
		orders := prometheus.NewCounter(prometheus.CounterOpts{Name: "plant_orders_total", Help: "Orders since the start."})
		orders.Inc()
		require.Equal(t, map[string]string{"plant_orders_total": "1"}, metricstest.Scrape(t, orders))
	}
}

func ExampleSamples() {
	samples := metricstest.Samples("# TYPE plant_orders_total counter\nplant_orders_total{line=\"1\"} 7\n")
	fmt.Println(samples[`plant_orders_total{line="1"}`])
	// Output: 7
}
