package tagspart

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/tags/history"
)

func newHistoryCollector(stats func() history.RecorderStats) *historyCollector {
	return &historyCollector{
		stats:   stats,
		stored:  prometheus.NewDesc("otkit_history_samples_stored_total", "Samples stored.", nil, nil),
		dropped: prometheus.NewDesc("otkit_history_samples_dropped_total", "Samples lost, by reason: the store failed or was slow for too long.", []string{"reason"}, nil),
		waiting: prometheus.NewDesc("otkit_history_samples_waiting", "Samples that wait to be stored.", nil, nil),
	}
}

// historyCollector collects what the recorder of the history does.
type historyCollector struct {
	stats                    func() history.RecorderStats
	stored, dropped, waiting *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *historyCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.stored
	out <- c.dropped
	out <- c.waiting
}

// Collect implements prometheus.Collector.
func (c *historyCollector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	out <- prometheus.MustNewConstMetric(c.stored, prometheus.CounterValue, float64(s.Stored))
	for _, reason := range history.DropReasons() {
		out <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(s.DroppedBy[reason]), string(reason))
	}
	out <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(s.Pending))
}
