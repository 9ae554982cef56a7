package discoverypart

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/linked"
)

func (d *Discovery) metrics() []prometheus.Collector {
	return []prometheus.Collector{newCollector(d.service.Bindings, d.hub.Link, d.opts.Now)}
}

func newCollector(list func() []discovery.Info, link func(bridgeID string) linked.Link, now func() time.Time) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &collector{list: list, link: link, now: now,
		bound:   desc("otkit_bridges", "Bridges that are bound."),
		online:  desc("otkit_bridge_online", "Whether a bridge is online.", "bridge", "driver"),
		open:    desc("otkit_bridge_link_open", "Whether the link of a bridge is open.", "bridge", "driver"),
		stored:  desc("otkit_bridge_samples_stored_total", "Samples of a bridge that were stored.", "bridge", "driver"),
		lost:    desc("otkit_bridge_samples_lost_total", "Samples that a bridge has dropped before they were delivered, since it was bound.", "bridge", "driver"),
		unknown: desc("otkit_bridge_samples_unknown_total", "Samples of a bridge that were dropped because they have no tag.", "bridge", "driver"),
		missed:  desc("otkit_bridge_heartbeats_missed", "Heartbeats that a bridge has missed in a row.", "bridge", "driver"),
		waiting: desc("otkit_bridge_buffered_entries", "Entries that wait at a bridge, as it said last, every 10 s. Absent while its link is not open.", "bridge", "driver"),
		lag: desc("otkit_bridge_lag_seconds", "Age of the newest stored sample of a bridge while entries wait there or its link is not open; 0 while none waits. "+
			"Absent if no sample was stored since the start.", "bridge", "driver"),
	}
}

// collector collects what the bridges do.
type collector struct {
	list func() []discovery.Info
	link func(bridgeID string) linked.Link
	now  func() time.Time

	bound, online, open, stored, lost, unknown, missed, waiting, lag *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.bound, c.online, c.open, c.stored, c.lost, c.unknown, c.missed, c.waiting, c.lag} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	all := c.list()
	out <- prometheus.MustNewConstMetric(c.bound, prometheus.GaugeValue, float64(len(all)))
	for i := range all {
		b := &all[i]
		if b.Elsewhere { // the engine that looks after it has its metrics
			continue
		}
		l := c.link(b.BridgeID)
		waiting, lag := c.behind(&l)
		labels := []string{strings.ToValidUTF8(b.BridgeID, "?"), strings.ToValidUTF8(b.DriverID, "?")}
		for _, m := range []struct {
			desc  *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{c.online, prometheus.GaugeValue, truth(b.Online)}, {c.open, prometheus.GaugeValue, truth(b.LinkOpen)},
			{c.stored, prometheus.CounterValue, float64(l.Samples)}, {c.lost, prometheus.CounterValue, float64(b.Lost)},
			{c.unknown, prometheus.CounterValue, float64(l.Unknown)}, {c.missed, prometheus.GaugeValue, float64(b.Missed)},
			{c.waiting, prometheus.GaugeValue, waiting}, {c.lag, prometheus.GaugeValue, lag},
		} {
			if m.value < 0 {
				continue
			}
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value, labels...)
		}
	}
}

// behind returns how many entries wait at a bridge, and how many seconds it is behind. A negative value is not known.
func (c *collector) behind(l *linked.Link) (waiting, lag float64) {
	waiting, lag = -1, -1
	if l.Open {
		waiting = float64(l.Buffered)
	}
	switch {
	case waiting == 0:
		lag = 0
	case !l.Newest.IsZero():
		lag = max(c.now().Sub(l.Newest).Seconds(), 0)
	}
	return waiting, lag
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
