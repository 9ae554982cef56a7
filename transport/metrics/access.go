package metrics

import "github.com/prometheus/client_golang/prometheus"

// AccessStats are figures about callers.
type AccessStats struct {
	OpenTo  string            // protected, loopback, networks or wide: to whom surfaces without a token are open
	Refused map[string]uint64 // calls that were refused, by reason; the reasons must be few and fixed
}

// AddAccess adds metrics of who is admitted. It can be called once.
func (m *Metrics) AddAccess(stats func() AccessStats) error {
	return m.registry.Register(&accessCollector{
		stats:   stats,
		open:    prometheus.NewDesc("otkit_open_surfaces", "1 for whom the surfaces without a token are open to: protected (nobody), loopback, networks or wide.", []string{"to"}, nil),
		refused: prometheus.NewDesc("otkit_refused_calls_total", "Calls that were refused before they were carried out.", []string{"reason"}, nil),
	})
}

type accessCollector struct {
	stats         func() AccessStats
	open, refused *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *accessCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.open
	out <- c.refused
}

// Collect implements prometheus.Collector.
func (c *accessCollector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	for _, to := range [...]string{"protected", "loopback", "networks", "wide"} {
		value := 0.0
		if to == s.OpenTo {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, value, to)
	}
	for reason, n := range s.Refused {
		out <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(n), reason)
	}
}
