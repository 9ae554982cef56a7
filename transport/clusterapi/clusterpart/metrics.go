package clusterpart

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/cluster"
)

// moves counts leases that this engine took and left.
type moves struct{ taken, left *prometheus.CounterVec }

// The causes why a lease was left.
const (
	causeMoved  = "moved"
	causeLost   = "lost"
	causeFailed = "failed"
)

func newMoves() moves {
	return moves{
		taken: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "otkit_cluster_leases_taken_total", Help: "Leases that this engine has taken."}, []string{"kind"}),
		left: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "otkit_cluster_leases_left_total",
			Help: "Leases that this engine has left: moved to another one, lost because they were not renewed in time, or failed because it could not do the work."}, []string{"kind", "cause"}),
	}
}

func (m moves) collectors() []prometheus.Collector { return []prometheus.Collector{m.taken, m.left} }

func (m moves) begun(kind string) { m.taken.WithLabelValues(kind).Inc() }

// ended counts work whose context was ctx.
func (m moves) ended(kind string, ctx context.Context) {
	cause := causeLost
	switch err := context.Cause(ctx); {
	case err == nil:
		cause = causeFailed
	case errors.Is(err, cluster.ErrMoved):
		cause = causeMoved
	}
	m.left.WithLabelValues(kind, cause).Inc()
}

// collector collects how the engines are, as this one knows it.
type collector struct {
	engines                                               *Engines
	count, held, unassigned, renewed, busUp, busLost, lag *prometheus.Desc
}

func newCollector(e *Engines) *collector {
	return &collector{
		engines:    e,
		count:      prometheus.NewDesc("otkit_cluster_engines", "Engines that share the plant, by whether they are drained.", []string{"state"}, nil),
		held:       prometheus.NewDesc("otkit_cluster_leases", "Leases that this engine holds.", []string{"kind"}, nil),
		unassigned: prometheus.NewDesc("otkit_cluster_unassigned_works", "Work that no engine does.", []string{"kind"}, nil),
		renewed:    prometheus.NewDesc("otkit_cluster_renewal_age_seconds", "Time since this engine renewed its session.", nil, nil),
		busUp:      prometheus.NewDesc("otkit_cluster_bus_up", "1 if this engine is connected with the bus or is the only one, else 0.", nil, nil),
		busLost:    prometheus.NewDesc("otkit_cluster_bus_lost_messages_total", "Messages of the bus that this engine could not handle in time.", nil, nil),
		lag: prometheus.NewDesc("otkit_cluster_mirror_lag_seconds",
			"Time since this engine heard of a driver that another one runs, of the driver of which it heard least.", []string{"engine"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.count, c.held, c.unassigned, c.renewed, c.busUp, c.busLost, c.lag} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	report := c.engines.cluster.report(c.engines.opts.Lag)
	count, held, unassigned, lag := map[string]float64{"active": 0, "drained": 0}, map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, w := range c.engines.cluster.duties.Works() { // so that what is over goes to 0
		kind, _ := split(w.Name)
		held[kind], unassigned[kind] = 0, 0
	}
	for _, w := range report.Unassigned {
		kind, _ := split(w.Name)
		unassigned[kind]++
	}
	for i := range report.Engines {
		e := &report.Engines[i]
		if e.Draining {
			count["drained"]++
		} else {
			count["active"]++
		}
		if e.ValueLag != nil {
			lag[strings.ToValidUTF8(e.Engine, "?")] = e.ValueLag.Seconds()
		}
		for _, l := range e.Leases {
			if kind, _ := split(l.Work); e.Self {
				held[kind]++
			}
		}
	}
	for desc, by := range map[*prometheus.Desc]map[string]float64{c.count: count, c.held: held, c.unassigned: unassigned, c.lag: lag} {
		for label, n := range by {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, n, label)
		}
	}
	up := 0.0
	if report.Bus.Up || len(report.Engines) < 2 {
		up = 1
	}
	out <- prometheus.MustNewConstMetric(c.busUp, prometheus.GaugeValue, up)
	out <- prometheus.MustNewConstMetric(c.busLost, prometheus.CounterValue, float64(report.Bus.Lost))
	out <- prometheus.MustNewConstMetric(c.renewed, prometheus.GaugeValue, time.Since(c.engines.cluster.View().Renewed).Seconds())
}
