package bridgepart

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// metrics are those of the link and of the offline buffer.
func (p *Part) metrics() []prometheus.Collector { return []prometheus.Collector{newCollector(p)} }

type collector struct {
	p                                     *Part
	bound, connected, entries, bytes      *prometheus.Desc
	maxBytes, dropped, sent, acknowledged *prometheus.Desc
}

func newCollector(p *Part) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("otkit_bridge_"+name, help, labels, nil)
	}
	return &collector{p: p,
		bound:        desc("bound", "1 while the bridge is bound to an engine, else 0."),
		connected:    desc("link_connected", "1 while the engine has accepted the link, else 0."),
		entries:      desc("buffer_entries", "Entries that wait for the engine."),
		bytes:        desc("buffer_bytes", "Size of the offline buffer, all files counted."),
		maxBytes:     desc("buffer_max_bytes", "Limit of the size of the offline buffer."),
		dropped:      desc("buffer_dropped_total", "Entries removed without an acknowledgement, by reason: full, expired or memory.", "reason"),
		sent:         desc("sent_sequence", "The last number that was sent to the engine, in the epoch of the buffer."),
		acknowledged: desc("acknowledged_sequence", "The last number that the engine has stored, in the epoch of the buffer."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.bound, c.connected, c.entries, c.bytes, c.maxBytes, c.dropped, c.sent, c.acknowledged} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) { out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	gauge(c.bound, number(c.p.deps.Host.Status().Status == link.StatusBound))
	gauge(c.connected, number(c.p.deps.Host.Link().Connected))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := c.p.deps.Host.Stats(ctx)
	if err != nil {
		return
	}
	c.buffer(s, gauge)
	for _, d := range []struct {
		reason string
		n      uint64
	}{{"full", s.Dropped}, {"expired", s.Expired}, {"memory", s.MemoryDropped}} {
		out <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(d.n), d.reason)
	}
}

func (c *collector) buffer(s bridge.Stats, gauge func(*prometheus.Desc, float64)) {
	gauge(c.entries, float64(count(s)))
	gauge(c.bytes, float64(s.Bytes))
	gauge(c.maxBytes, float64(s.MaxBytes))
	gauge(c.sent, float64(s.Sent))
	gauge(c.acknowledged, float64(s.Acknowledged))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
