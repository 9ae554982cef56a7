package alarmspart

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/alarms"
)

// counts is what the metrics ask of the alarms. *alarms.Service implements it.
type counts interface {
	Counts(ctx context.Context) (map[alarms.ListState]int, error)
	Unjournaled() (count int, since time.Time)
}

// alarmCollector collects the number of alarms in each state, and of those that are not journaled.
type alarmCollector struct {
	alarms             counts
	count, unjournaled *prometheus.Desc
}

func newAlarmCollector(a counts) *alarmCollector {
	return &alarmCollector{
		alarms: a,
		count: prometheus.NewDesc("otkit_alarms",
			"Alarms by state: active, returned-unacknowledged, shelved, suppressed, out-of-service. Absent while the store does not answer.", []string{"state"}, nil),
		unjournaled: prometheus.NewDesc("otkit_alarms_unjournaled", "Alarms that are listed from memory, since the storage cannot be written.", nil, nil),
	}
}

// alarmTimeout bounds how long a scrape waits for the store.
const alarmTimeout = 2 * time.Second

// Describe implements prometheus.Collector.
func (c *alarmCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.count
	out <- c.unjournaled
}

// Collect implements prometheus.Collector.
func (c *alarmCollector) Collect(out chan<- prometheus.Metric) {
	unjournaled, _ := c.alarms.Unjournaled()
	out <- prometheus.MustNewConstMetric(c.unjournaled, prometheus.GaugeValue, float64(unjournaled))
	ctx, cancel := context.WithTimeout(context.Background(), alarmTimeout)
	defer cancel()
	byState, err := c.alarms.Counts(ctx)
	if err != nil {
		return
	}
	for state, n := range byState {
		out <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(n), string(state))
	}
}
