package tagspart

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/tags"
)

// driverStates are the states that a series is shown for, so that a state that is left goes to 0.
var driverStates = [...]tags.DriverState{tags.DriverConnecting, tags.DriverOnline, tags.DriverNotResponding, tags.DriverBackoff, tags.DriverStopped}

// driverCollector collects what the drivers do. statuses is called once for each scrape; the driver ids must differ.
type driverCollector struct {
	statuses func() []tags.DriverStatus
	state    *prometheus.Desc
	cycle    *prometheus.Desc
	wanted   *prometheus.Desc
	requests *prometheus.Desc
	breaker  *prometheus.Desc
	values   []driverValue
}

// driverValue is a metric with one value a driver.
type driverValue struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(*tags.DriverStatus) (value float64, shown bool)
}

// perInterval are the labels of the metrics for each polling interval of a driver.
var perInterval = []string{"driver", "type", "interval"}

func newDriverCollector(statuses func() []tags.DriverStatus) *driverCollector {
	c := &driverCollector{
		statuses: statuses,
		state: prometheus.NewDesc("otkit_driver_state", "1 for the state that the driver is in, else 0.",
			[]string{"driver", "type", "state"}, nil),
		cycle: prometheus.NewDesc("otkit_driver_cycle_seconds",
			"Time from one poll to the next of the tags of a polling interval, or as long as the one under way will take.", perInterval, nil),
		wanted: prometheus.NewDesc("otkit_driver_cycle_wanted_seconds", "The polling interval.", perInterval, nil),
		requests: prometheus.NewDesc("otkit_driver_cycle_requests",
			"Requests of the last poll of the tags of a polling interval.", perInterval, nil),
		breaker: prometheus.NewDesc("otkit_driver_unit_left_out",
			"1 for a unit that is left out because it does not answer, else 0.", []string{"driver", "type", "unit"}, nil),
	}
	add := func(name, help string, kind prometheus.ValueType, get func(*tags.DriverStatus) (float64, bool)) {
		desc := prometheus.NewDesc("otkit_driver_"+name, help, []string{"driver", "type"}, nil)
		c.values = append(c.values, driverValue{desc, kind, get})
	}
	counter := func(name, help string, get func(*tags.DriverStatus) uint64) {
		add(name, help, prometheus.CounterValue, func(s *tags.DriverStatus) (float64, bool) { return float64(get(s)), true })
	}
	counter("reads_total", "Requests for points.", func(s *tags.DriverStatus) uint64 { return s.Reads })
	counter("read_errors_total", "Reads and single points that failed.", func(s *tags.DriverStatus) uint64 { return s.ReadErrors })
	counter("samples_total", "Readings taken over.", func(s *tags.DriverStatus) uint64 { return s.Samples })
	counter("changes_total", "Samples that were reported as changes.", func(s *tags.DriverStatus) uint64 { return s.Changes })
	counter("writes_total", "Writes that the device took.", func(s *tags.DriverStatus) uint64 { return s.Writes })
	counter("write_errors_total", "Writes that failed.", func(s *tags.DriverStatus) uint64 { return s.WriteErrors })
	counter("connects_total", "Connections made.", func(s *tags.DriverStatus) uint64 { return s.Connects })

	gauge := prometheus.GaugeValue
	add("tags", "Tags of the driver.", gauge, func(s *tags.DriverStatus) (float64, bool) { return float64(s.Tags), true })
	add("queued_writes", "Writes that wait for the driver.", gauge,
		func(s *tags.DriverStatus) (float64, bool) { return float64(s.QueuedWrites), true })
	add("round_trip_seconds", "Time of the last request for points.", gauge,
		func(s *tags.DriverStatus) (float64, bool) { return s.RoundTrip.Seconds(), true })
	add("round_trip_mean_seconds", "Mean time of the requests of about the last 15 seconds in which there were any.", gauge,
		func(s *tags.DriverStatus) (float64, bool) { return s.RoundTripMean.Seconds(), true })
	add("round_trip_max_seconds", "Longest time of the requests of about the last 15 seconds in which there were any.", gauge,
		func(s *tags.DriverStatus) (float64, bool) { return s.RoundTripMax.Seconds(), true })
	add("connected_since_timestamp_seconds", "When the connection was made, in Unix time; only while online.", gauge,
		func(s *tags.DriverStatus) (float64, bool) { return unix(s.ConnectedSince) })
	add("last_error_timestamp_seconds", "When the last failure was, in Unix time.", gauge,
		func(s *tags.DriverStatus) (float64, bool) { return unix(s.LastErrorAt) })
	return c
}

// unix returns a time in seconds, and false for the zero time.
func unix(t time.Time) (float64, bool) { return float64(t.UnixMilli()) / 1000, !t.IsZero() }

// Describe implements prometheus.Collector.
func (c *driverCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.state, c.cycle, c.wanted, c.requests, c.breaker} {
		out <- d
	}
	for _, v := range c.values {
		out <- v.desc
	}
}

// Collect implements prometheus.Collector.
func (c *driverCollector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.statuses() {
		id, kind := label(s.ID), label(s.Type)
		for _, state := range driverStates {
			value := 0.0
			if s.State == state {
				value = 1
			}
			out <- prometheus.MustNewConstMetric(c.state, prometheus.GaugeValue, value, id, kind, string(state))
		}
		for _, v := range c.values {
			if value, shown := v.get(&s); shown {
				out <- prometheus.MustNewConstMetric(v.desc, v.kind, value, id, kind)
			}
		}
		for _, p := range s.Cycles {
			interval := p.Wanted.String()
			out <- prometheus.MustNewConstMetric(c.cycle, prometheus.GaugeValue, p.Reached.Seconds(), id, kind, interval)
			out <- prometheus.MustNewConstMetric(c.wanted, prometheus.GaugeValue, p.Wanted.Seconds(), id, kind, interval)
			out <- prometheus.MustNewConstMetric(c.requests, prometheus.GaugeValue, float64(p.Requests), id, kind, interval)
		}
		for _, b := range s.Breakers {
			value := 0.0
			if b.State != tags.BreakerClosed {
				value = 1
			}
			out <- prometheus.MustNewConstMetric(c.breaker, prometheus.GaugeValue, value, id, kind, label(b.Unit))
		}
	}
}

// label makes a text fit to be a label value, which has to be UTF-8.
func label(s string) string { return strings.ToValidUTF8(s, "?") }
