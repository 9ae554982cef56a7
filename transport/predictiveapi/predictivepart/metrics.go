package predictivepart

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
)

// meters count trainings and answers.
type meters struct {
	trainings *prometheus.CounterVec // by model type and outcome
	duration  *prometheus.HistogramVec
	answers   *prometheus.CounterVec // by call and outcome
	took      *prometheus.HistogramVec
}

// The outcomes of answers beside the codes of errors.
const (
	positive = "Positive"
	negative = "Negative"
	canceled = "Canceled"
	failed   = "INTERNAL"
)

func newMeters() *meters {
	m := &meters{
		trainings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "otkit_predictive_trainings_total", Help: "Trainings that have ended."},
			[]string{"model_type", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "otkit_predictive_training_seconds", Help: "Duration of trainings that made a model.",
			Buckets: []float64{0.1, 1, 10, 60, 300, 1200, 3600}}, []string{"model_type"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "otkit_predictive_answers_total",
			Help: "Predictions and judgments of samples, those of the monitor included, by outcome: Positive for a failure or an anomaly, Negative, Canceled, or the code of an error."},
			[]string{"call", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "otkit_predictive_answer_seconds", Help: "Time of predictions and judgments of samples.",
			Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}}, []string{"call"}),
	}
	for _, call := range []string{"FailurePrediction", "RUL", "Anomaly", "Multivariate"} {
		m.took.WithLabelValues(call)
		for _, outcome := range []string{positive, negative} {
			m.answers.WithLabelValues(call, outcome)
		}
	}
	for _, t := range predictive.ModelTypes() {
		m.duration.WithLabelValues(string(t))
		for _, s := range []predictive.JobState{predictive.JobSucceeded, predictive.JobFailed, predictive.JobCanceled} {
			m.trainings.WithLabelValues(string(t), string(s))
		}
	}
	return m
}

func (m *meters) onJob(j predictive.Job) {
	if j.State == predictive.JobRunning {
		return
	}
	m.trainings.WithLabelValues(string(j.ModelType), string(j.State)).Inc()
	if j.State == predictive.JobSucceeded {
		m.duration.WithLabelValues(string(j.ModelType)).Observe(j.EndedAt.Sub(j.StartedAt).Seconds())
	}
}

func (m *meters) onAnswer(a predictive.Answer) {
	outcome := negative
	switch e, ok := fault.From(a.Err); {
	case errors.Is(a.Err, context.Canceled):
		outcome = canceled
	case ok:
		outcome = e.Code
	case a.Err != nil:
		outcome = failed
	case a.Positive:
		outcome = positive
	}
	m.answers.WithLabelValues(a.Call, outcome).Inc()
	m.took.WithLabelValues(a.Call).Observe(a.Took.Seconds())
}

func (p *Predictive) metrics() []prometheus.Collector {
	var own []prometheus.Collector
	if !p.opts.WithoutMonitor {
		own = monitorMetrics(p.monitorStats)
	}
	return append(own, p.meters.trainings, p.meters.duration, p.meters.answers, p.meters.took, p.models)
}

// monitorStats returns the figures of the monitor that runs, zero for none.
func (p *Predictive) monitorStats() monitor.Stats {
	if m := p.monitor.Load(); m != nil {
		return m.Stats()
	}
	return monitor.Stats{}
}

// monitorMetrics are figures of the predictions on a timer.
func monitorMetrics(stats func() monitor.Stats) []prometheus.Collector {
	gauge := func(name, help string, value func(monitor.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "otkit_predictive_monitor_" + name, Help: help}, func() float64 { return value(stats()) })
	}
	list := []prometheus.Collector{
		gauge("targets", "Targets that are predicted for on a timer.", func(s monitor.Stats) float64 { return float64(s.Targets) }),
		gauge("round_seconds", "Duration of the last round of all targets.", func(s monitor.Stats) float64 { return s.Round.Seconds() }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "otkit_predictive_monitor_skipped_total", Help: "Predictions that were due and not made, to limit the load."},
			func() float64 { return float64(stats().Skipped) }),
	}
	for _, kind := range []monitor.Kind{monitor.Failure, monitor.RUL, monitor.Anomaly} {
		list = append(list, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "otkit_predictive_monitor_targets_omitted", Help: "Targets beyond the limit, by what would be predicted.",
			ConstLabels: prometheus.Labels{"kind": string(kind)}}, func() float64 { return float64(stats().OmittedOf[kind]) }))
	}
	return list
}

func newModelCollector(registry predictive.Registry, now func() time.Time) *modelCollector {
	return &modelCollector{
		registry: registry, now: now,
		age:  prometheus.NewDesc("otkit_predictive_model_age_seconds", "Time since the training of the model that serves. Absent without one.", []string{"model_type"}, nil),
		rows: prometheus.NewDesc("otkit_predictive_model_rows", "Rows that the model that serves was trained with.", []string{"model_type"}, nil),
	}
}

// modelCollector collects figures of the models that serve.
type modelCollector struct {
	registry  predictive.Registry
	now       func() time.Time
	age, rows *prometheus.Desc

	changed atomic.Bool // since they were read

	mu      sync.Mutex
	read    time.Time // zero before the first scrape
	serving []predictive.Meta
}

// Describe implements prometheus.Collector.
func (c *modelCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.age
	out <- c.rows
}

// Collect implements prometheus.Collector.
func (c *modelCollector) Collect(out chan<- prometheus.Metric) {
	now := c.now()
	for _, m := range c.current(now) {
		out <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, now.Sub(m.TrainedAt).Seconds(), string(m.ModelType))
		out <- prometheus.MustNewConstMetric(c.rows, prometheus.GaugeValue, float64(m.Samples), string(m.ModelType))
	}
}

const (
	collectTimeout = 2 * time.Second // how long a scrape waits for the models
	collectAge     = time.Minute     // how long they are not read again: a registry reads them whole
)

// current returns the models that serve.
func (c *modelCollector) current(now time.Time) []predictive.Meta {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed := c.changed.Swap(false); !changed && !c.read.IsZero() && now.Sub(c.read).Abs() < collectAge {
		return c.serving
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	c.read, c.serving = now, nil
	for _, t := range predictive.ModelTypes() {
		if m, _, err := c.registry.Get(ctx, t, 0); err == nil {
			c.serving = append(c.serving, m)
		}
	}
	return c.serving
}
