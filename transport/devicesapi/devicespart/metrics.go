package devicespart

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/devices"
)

// meters count what happens to commands.
type meters struct {
	failing  atomic.Bool            // the last write of the store failed
	commands *prometheus.CounterVec // by outcome
	refused  *prometheus.CounterVec // by policy
	checks   prometheus.Histogram
}

func newMeters() *meters {
	m := &meters{
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "otkit_device_commands_total", Help: "Commands that have ended."}, []string{"outcome"}),
		refused:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "otkit_device_commands_refused_total", Help: "Commands that a safety policy refused."}, []string{"policy"}),
		checks: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "otkit_device_safety_check_seconds", Help: "Time of the safety policies for one command.",
			Buckets: []float64{5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 500e-6, 1e-3, 10e-3}}),
	}
	for _, p := range []devices.Phase{devices.Succeeded, devices.Failed, devices.Refused, devices.Canceled, devices.TimedOut, devices.Lost} {
		m.commands.WithLabelValues(string(p))
	}
	return m
}

func (d *Devices) metrics() []prometheus.Collector {
	return []prometheus.Collector{d.meters.commands, d.meters.refused, d.meters.checks, newStateCollector(d.service.List)}
}

func newStateCollector(list func() []devices.Device) *stateCollector {
	return &stateCollector{
		list:   list,
		states: prometheus.NewDesc("otkit_devices", "Devices by state.", []string{"state"}, nil),
		stops:  prometheus.NewDesc("otkit_devices_stopped", "Devices whose emergency stop is latched.", nil, nil),
	}
}

// stateCollector collects how many devices are in which state.
type stateCollector struct {
	list          func() []devices.Device
	states, stops *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.states
	out <- c.stops
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	n := countOf(c.list())
	for _, s := range devices.States() {
		out <- prometheus.MustNewConstMetric(c.states, prometheus.GaugeValue, float64(n.states[s]), string(s))
	}
	out <- prometheus.MustNewConstMetric(c.stops, prometheus.GaugeValue, float64(n.stopped))
}

// counts are how many devices there are of a kind.
type counts struct {
	all, faulty, stopped int
	unheard              int // the engine that has them is not heard
	states               map[devices.State]int
}

func countOf(list []devices.Device) counts {
	n := counts{all: len(list), states: map[devices.State]int{}}
	for _, d := range list {
		n.states[d.State]++
		if d.StopLatched {
			n.stopped++
		}
		if d.Unheard {
			n.unheard++
		}
		if d.Telemetry != nil && len(d.Telemetry.Faults) > 0 {
			n.faulty++
		}
	}
	return n
}
