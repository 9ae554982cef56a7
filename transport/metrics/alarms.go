package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/alarms"
)

// Alarms is what the metrics ask about alarms. *alarms.Service is one.
type Alarms interface {
	Counts(ctx context.Context) (map[alarms.ListState]int, error)
}

// AddAlarms adds the number of alarms in each state. It can be called once.
func (m *Metrics) AddAlarms(a Alarms) error {
	return m.registry.Register(&alarmCollector{alarms: a, count: prometheus.NewDesc("otkit_alarms",
		"Alarms by state: active, returned-unacknowledged, shelved, suppressed, out-of-service. Absent while the store does not answer.", []string{"state"}, nil)})
}

// alarmTimeout bounds how long a scrape waits for the store.
const alarmTimeout = 2 * time.Second

type alarmCollector struct {
	alarms Alarms
	count  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *alarmCollector) Describe(out chan<- *prometheus.Desc) { out <- c.count }

// Collect implements prometheus.Collector.
func (c *alarmCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), alarmTimeout)
	defer cancel()
	counts, err := c.alarms.Counts(ctx)
	if err != nil {
		return
	}
	for state, n := range counts {
		out <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(n), string(state))
	}
}
