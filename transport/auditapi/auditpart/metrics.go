package auditpart

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/audit"
)

// collector collects what the audit log does.
type collector struct {
	stats                         func() audit.Stats
	stored, failed, lost, pending *prometheus.Desc
}

func newCollector(stats func() audit.Stats) *collector {
	return &collector{
		stats:   stats,
		stored:  prometheus.NewDesc("otkit_audit_entries_stored_total", "Entries stored; an act has two, its intent and its outcome.", nil, nil),
		failed:  prometheus.NewDesc("otkit_audit_transactions_failed_total", "Attempts to store entries that failed.", nil, nil),
		lost:    prometheus.NewDesc("otkit_audit_entries_lost_total", "Entries that were never stored.", nil, nil),
		pending: prometheus.NewDesc("otkit_audit_entries_pending", "Acts in progress and entries that are not stored yet.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.stored
	out <- c.failed
	out <- c.lost
	out <- c.pending
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	out <- prometheus.MustNewConstMetric(c.stored, prometheus.CounterValue, float64(s.Stored))
	out <- prometheus.MustNewConstMetric(c.failed, prometheus.CounterValue, float64(s.Failed))
	out <- prometheus.MustNewConstMetric(c.lost, prometheus.CounterValue, float64(s.Lost))
	out <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(s.Pending))
}
