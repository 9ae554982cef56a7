package alertingpart

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/silences"
)

// channelStates is what the metrics ask of the dispatcher. *dispatch.Dispatcher implements it.
type channelStates interface {
	Channels() []alerting.ChannelStatus
	Err() error
}

func newSilenceCollector(s *silences.Service) *silenceCollector {
	return &silenceCollector{s, prometheus.NewDesc("otkit_alerting_silences",
		"Silences that hold now: all, broad ones that match every alarm, long ones that last for more than a day, and anonymous ones.", []string{"kind"}, nil)}
}

// silenceCollector collects the number of silences.
type silenceCollector struct {
	silences *silences.Service
	desc     *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *silenceCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector. If the store cannot be read, there is no value.
func (c *silenceCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), silencesTimeout)
	defer cancel()
	sum, _, err := c.silences.Summary(ctx)
	if err != nil {
		return
	}
	for kind, n := range map[string]int{"all": sum.Active, "broad": sum.Broad, "long": sum.Long, "anonymous": sum.Anonymous} {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), kind)
	}
}

// silencesTimeout bounds how long a scrape waits for the store.
const silencesTimeout = 2 * time.Second

func newChannelCollector(d channelStates) *channelCollector {
	return &channelCollector{
		dispatcher:  d,
		dispatching: prometheus.NewDesc("otkit_alerting_dispatching", "1 while channels are told of alarms, 0 while the store cannot be used.", nil, nil),
		sent:        prometheus.NewDesc("otkit_alerting_messages_sent_total", "Messages taken by the channel.", []string{"channel"}, nil),
		failed:      prometheus.NewDesc("otkit_alerting_attempts_failed_total", "Attempts to send that failed.", []string{"channel"}, nil),
		failing:     prometheus.NewDesc("otkit_alerting_recipients_failing", "Recipients of the channel whose last attempt failed.", []string{"channel"}, nil),
		paused:      prometheus.NewDesc("otkit_alerting_channel_paused", "1 while every recipient of the channel waits after failures, else 0.", []string{"channel"}, nil),
	}
}

// channelCollector collects what the channels have sent.
type channelCollector struct {
	dispatcher                                 channelStates
	dispatching, sent, failed, failing, paused *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *channelCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.dispatching
	out <- c.sent
	out <- c.failed
	out <- c.failing
	out <- c.paused
}

// Collect implements prometheus.Collector.
func (c *channelCollector) Collect(out chan<- prometheus.Metric) {
	working := 1.0
	if c.dispatcher.Err() != nil {
		working = 0
	}
	out <- prometheus.MustNewConstMetric(c.dispatching, prometheus.GaugeValue, working)
	for _, s := range c.dispatcher.Channels() {
		name := strings.ToValidUTF8(s.Name, "?")
		out <- prometheus.MustNewConstMetric(c.sent, prometheus.CounterValue, float64(s.Sent), name)
		out <- prometheus.MustNewConstMetric(c.failed, prometheus.CounterValue, float64(s.Failed), name)
		out <- prometheus.MustNewConstMetric(c.failing, prometheus.GaugeValue, float64(s.Failing), name)
		paused := 0.0
		if !s.PausedUntil.IsZero() {
			paused = 1
		}
		out <- prometheus.MustNewConstMetric(c.paused, prometheus.GaugeValue, paused, name)
	}
}
