package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/alerting"
)

// Dispatcher is what the metrics ask about alerting. *alerting.Dispatcher is one.
type Dispatcher interface {
	Channels() []alerting.ChannelStatus
	Err() error
}

// AddAlerting has the metrics tell how channels are told of alarms. It can be called once.
func (m *Metrics) AddAlerting(d Dispatcher) error {
	return m.registry.Register(&alertingCollector{
		dispatcher:  d,
		dispatching: prometheus.NewDesc("otkit_alerting_dispatching", "1 while channels are told of alarms, 0 while the store cannot be used.", nil, nil),
		sent:        prometheus.NewDesc("otkit_alerting_messages_sent_total", "Messages taken by the channel.", []string{"channel"}, nil),
		failed:      prometheus.NewDesc("otkit_alerting_attempts_failed_total", "Attempts to send that failed.", []string{"channel"}, nil),
	})
}

type alertingCollector struct {
	dispatcher                Dispatcher
	dispatching, sent, failed *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *alertingCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.dispatching
	out <- c.sent
	out <- c.failed
}

// Collect implements prometheus.Collector.
func (c *alertingCollector) Collect(out chan<- prometheus.Metric) {
	working := 1.0
	if c.dispatcher.Err() != nil {
		working = 0
	}
	out <- prometheus.MustNewConstMetric(c.dispatching, prometheus.GaugeValue, working)
	for _, s := range c.dispatcher.Channels() {
		name := label(s.Name)
		out <- prometheus.MustNewConstMetric(c.sent, prometheus.CounterValue, float64(s.Sent), name)
		out <- prometheus.MustNewConstMetric(c.failed, prometheus.CounterValue, float64(s.Failed), name)
	}
}
