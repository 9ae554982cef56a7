package discoverypart

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/linked"
)

func (d *Discovery) metrics() []prometheus.Collector {
	return []prometheus.Collector{newCollector(d.service.Bindings, d.hub.Link)}
}

func newCollector(list func() []discovery.Info, link func(bridgeID string) linked.Link) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &collector{list: list, link: link,
		bound:   desc("otkit_bridges", "Bridges that are bound."),
		online:  desc("otkit_bridge_online", "Whether a bridge is online.", "bridge", "driver"),
		open:    desc("otkit_bridge_link_open", "Whether the link of a bridge is open.", "bridge", "driver"),
		stored:  desc("otkit_bridge_samples_stored_total", "Samples of a bridge that were stored.", "bridge", "driver"),
		lost:    desc("otkit_bridge_samples_lost_total", "Samples that a bridge has dropped before they were delivered, since it was bound.", "bridge", "driver"),
		unknown: desc("otkit_bridge_samples_unknown_total", "Samples of a bridge that were dropped because they have no tag.", "bridge", "driver"),
		missed:  desc("otkit_bridge_heartbeats_missed", "Heartbeats that a bridge has missed in a row.", "bridge", "driver"),
	}
}

// collector collects what the bridges do.
type collector struct {
	list                                               func() []discovery.Info
	link                                               func(bridgeID string) linked.Link
	bound, online, open, stored, lost, unknown, missed *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.bound, c.online, c.open, c.stored, c.lost, c.unknown, c.missed} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	all := c.list()
	out <- prometheus.MustNewConstMetric(c.bound, prometheus.GaugeValue, float64(len(all)))
	for i := range all {
		b := &all[i]
		l := c.link(b.BridgeID)
		labels := []string{strings.ToValidUTF8(b.BridgeID, "?"), strings.ToValidUTF8(b.DriverID, "?")}
		for _, m := range []struct {
			desc  *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{c.online, prometheus.GaugeValue, truth(b.Online)}, {c.open, prometheus.GaugeValue, truth(b.LinkOpen)},
			{c.stored, prometheus.CounterValue, float64(l.Samples)}, {c.lost, prometheus.CounterValue, float64(b.Lost)},
			{c.unknown, prometheus.CounterValue, float64(l.Unknown)}, {c.missed, prometheus.GaugeValue, float64(b.Missed)},
		} {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value, labels...)
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
