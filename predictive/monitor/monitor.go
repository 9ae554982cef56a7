package monitor

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
)

// Predictor makes predictions. A predictive.Service is a Predictor.
type Predictor interface {
	Equipments(ctx context.Context) ([]string, error)
	Tags(ctx context.Context, equipment string) ([]string, error)
	// RecordedComponents returns the components that the records of an equipment name.
	RecordedComponents(ctx context.Context, equipment string) ([]string, error)
	FailurePrediction(ctx context.Context, equipment, tag string) (predictive.FailurePrediction, error)
	RUL(ctx context.Context, equipment, component string) (predictive.RUL, error)
	Anomaly(ctx context.Context, tag string) (predictive.Anomaly, error)
}

// Monitor makes predictions while [Monitor.Run] runs. Stats and Renew may be called from any goroutine.
type Monitor struct {
	predictor Predictor
	sink      Sink
	o         Options

	ring    []Target // in the order of predictions
	place   int      // of the next one
	fresh   []Target // to predict for before all others
	windows map[Target]*window
	turns   list.List     // of *window, that which was predicted for the longest ago in front
	elapsed time.Duration // while it predicted, without times in which the process stood still
	stepped time.Time     // the last prediction

	listAt  time.Time     // when targets are listed again
	listing time.Duration // after which they are then listed again
	restAt  time.Time     // no prediction before that, to keep the load
	turnAt  time.Time     // no prediction of the ring before that, to keep the pace

	round   time.Time // when the first of the ring was predicted for
	slow    bool      // the last round took too long
	failing string    // the last error that was logged
	warned  bool      // that targets are omitted

	renew                                chan struct{}
	targets                              atomic.Int64
	omitted                              atomic.Pointer[omission]
	predictions, failures, skipped, last atomic.Int64
	period                               atomic.Int64
}

// New returns a monitor, which works while [Monitor.Run] does. predictor and sink are required.
func New(predictor Predictor, sink Sink, o Options) (*Monitor, error) {
	switch {
	case predictor == nil:
		return nil, fault.Option(pkg, "predictor", "is required")
	case sink == nil:
		return nil, fault.Option(pkg, "sink", "is required")
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	m := &Monitor{predictor: predictor, sink: sink, o: o, windows: make(map[Target]*window), renew: make(chan struct{}, 1)}
	m.omitted.Store(new(omission))
	m.period.Store(int64(o.Interval))
	return m, nil
}

// Stats are figures of a monitor since it was made.
type Stats struct {
	Targets     int    // monitored now
	Omitted     int    // beyond Options.MaxTargets
	Predictions uint64 // made, those that failed included
	Failures    uint64 // predictions that could not be made
	Skipped     uint64 // predictions that were due and not made
	// Round is how long the last round of all targets took.
	Round time.Duration
	// OmittedOf has the targets beyond Options.MaxTargets by their kinds. It must not be changed.
	OmittedOf map[Kind]int
}

// Stats returns the figures.
func (m *Monitor) Stats() Stats {
	omitted := m.omitted.Load()
	return Stats{Targets: int(m.targets.Load()), Omitted: omitted.count, OmittedOf: omitted.kinds, Predictions: uint64(m.predictions.Load()),
		Failures: uint64(m.failures.Load()), Skipped: uint64(m.skipped.Load()), Round: time.Duration(m.last.Load())}
}

// Period returns how far apart the predictions for a target are at present: Options.Interval or, if there are too many for Options.MaxLoad,
// longer. After the start it grows until each target was predicted for once.
func (m *Monitor) Period() time.Duration { return time.Duration(m.period.Load()) }

// Renew predicts for all targets again, as fast as Options.MaxLoad allows, such as with a new model. It does not wait.
func (m *Monitor) Renew() {
	select {
	case m.renew <- struct{}{}:
	default:
	}
}

// minListing is when targets are listed again after the start; the time doubles up to Options.Interval. Drivers and their tags come
// one after the other while a server starts.
const minListing = 10 * time.Second

// Run predicts until ctx ends. It must be called once. New targets come first, as fast as Options.MaxLoad allows. Times are measured by
// the monotonic clock, so that a clock that is set changes nothing, and a process that was stopped has nothing to make up for.
func (m *Monitor) Run(ctx context.Context) {
	now := time.Now()
	m.listing, m.listAt, m.restAt, m.turnAt = min(minListing, m.o.Interval), now, now, now
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(m.next()))
		select {
		case <-ctx.Done():
			return
		case <-m.renew:
			m.fresh = slices.Clone(m.ring)
			continue
		case <-timer.C:
		}
		if now := time.Now(); !now.Before(m.listAt) {
			m.list(ctx)
			m.listAt = time.Now().Add(m.listing)
			m.listing = min(m.listing*2, m.o.Interval)
			continue
		}
		m.step(ctx)
	}
}

// next returns when there is something to do.
func (m *Monitor) next() time.Time {
	if len(m.ring) == 0 {
		return m.listAt
	}
	at := m.restAt
	if len(m.fresh) == 0 && m.turnAt.After(at) {
		at = m.turnAt
	}
	if m.listAt.Before(at) {
		return m.listAt
	}
	return at
}

// step makes one prediction.
func (m *Monitor) step(ctx context.Context) {
	began := time.Now()
	pace := max(m.o.Interval/time.Duration(len(m.ring)), 1)
	m.elapse(began, pace)
	var target Target
	if len(m.fresh) > 0 {
		target, m.fresh = m.fresh[0], m.fresh[1:]
		m.turnAt = began.Add(pace)
	} else {
		target = m.ring[m.place]
		m.advance(began)
		m.turnAt = m.turnAt.Add(pace)
		if late := began.Sub(m.turnAt); late > 0 {
			m.skipped.Add(int64(late/pace) + 1)
			m.turnAt = began
		}
	}
	m.predict(ctx, target)
	took := min(time.Since(began), m.o.Timeout) // a process that was stopped has not worked
	m.restAt = time.Now().Add(time.Duration(float64(took) * (1/m.o.MaxLoad - 1)))
}

// elapse counts the time since the last prediction. What is longer than the pace and the load explain is that of a process that was stopped.
func (m *Monitor) elapse(now time.Time, pace time.Duration) {
	if !m.stepped.IsZero() {
		m.elapsed += min(now.Sub(m.stepped), max(pace, time.Duration(float64(m.o.Timeout)/m.o.MaxLoad)))
	}
	m.stepped = now
	oldest := m.turns.Front().Value.(*window)
	m.period.Store(int64(max(m.o.Interval, m.elapsed-oldest.asked)))
}

// advance moves to the next target.
func (m *Monitor) advance(now time.Time) {
	if m.place == 0 {
		m.round = now
	}
	if m.place++; m.place < len(m.ring) {
		return
	}
	m.place = 0
	took := now.Sub(m.round)
	m.last.Store(int64(took))
	if slow := took > m.o.Interval*3/2; slow != m.slow {
		if m.slow = slow; slow {
			m.o.Log.Warn("predictions take longer than their interval; targets are predicted for less often", "targets", len(m.ring), "took", took)
		} else {
			m.o.Log.Info("predictions keep their interval again", "targets", len(m.ring), "took", took)
		}
	}
}

// predict makes a prediction and passes it to the sink.
func (m *Monitor) predict(ctx context.Context, t Target) {
	limited, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	r := m.ask(limited, t)
	if ctx.Err() != nil {
		return
	}
	m.predictions.Add(1)
	w := m.windows[t]
	w.asked = m.elapsed
	m.turns.MoveToBack(w.turn)
	if r.Err != nil {
		m.failures.Add(1)
		r.At = m.o.Clock()
	} else if positive, counts := m.judge(&r, w); counts {
		w.add(positive, m.o.Positive, m.o.Results, m.o.Clear)
	}
	r.State = w.state
	m.logError(t, r.Err)
	m.sink.Put(r)
}

// logError logs an error that is not that of a plant without models or samples, once until there is another one or none.
func (m *Monitor) logError(t Target, err error) {
	switch {
	case err == nil:
		m.failing = ""
		omitted := m.omitted.Load()
		if omitted.count > 0 && !m.warned { // not before there is a model
			m.o.Log.Warn("too many targets of predictions; some are omitted", "targets", len(m.ring), "omitted", omitted.count, "equipments", omitted.names())
		}
		m.warned = omitted.count > 0
	case fault.KindOf(err) != fault.Internal || errors.Is(err, predictive.ErrModelNotAvailable):
	case err.Error() != m.failing:
		m.failing = err.Error()
		m.o.Log.Warn("failed to predict; retrying", "kind", t.Kind, "equipment", t.Equipment, "name", t.Name, "error", err)
	}
}

// ask makes a prediction. A panic is an error: predictions read whatever the plant has.
func (m *Monitor) ask(ctx context.Context, t Target) (r Result) {
	r.Target = t
	defer func() {
		if p := recover(); p != nil {
			r = Result{Target: t, Err: fmt.Errorf("monitor: prediction panicked: %v\n%s", p, debug.Stack())}
		}
	}()
	switch t.Kind {
	case Failure:
		p, err := m.predictor.FailurePrediction(ctx, t.Equipment, t.Name)
		if r.Err = err; err == nil {
			r.Failure, r.At = &p, p.PredictedAt
		}
	case RUL:
		p, err := m.predictor.RUL(ctx, t.Equipment, t.Name)
		if r.Err = err; err == nil {
			r.RUL, r.At = &p, p.PredictedAt
		}
	case Anomaly:
		p, err := m.predictor.Anomaly(ctx, t.Name)
		if r.Err = err; err == nil {
			r.Anomaly, r.At = &p, p.DetectedAt
		}
	}
	return r
}

// judge reports whether a result is positive, and whether it counts: one that has seen nothing new does not.
func (m *Monitor) judge(r *Result, w *window) (positive, counts bool) {
	switch r.Kind {
	case Failure:
		w.live(r.Failure.LifeStart)
		likely := r.Failure.FailureProbability >= m.o.MinProbability
		counts = r.Failure.Confidence >= m.o.MinConfidence && w.fresh(r.Failure.SampledAt.Truncate(r.Failure.Step))
		return likely && r.Failure.Prediction == predictive.PredictionFailure, counts
	case RUL:
		w.live(r.RUL.LifeStart)
		short := r.RUL.PredictedFailureDate.Sub(r.RUL.PredictedAt) <= m.o.Within
		return short && !r.RUL.Capped, r.RUL.Confidence >= m.o.MinConfidence && w.fresh(r.RUL.SampledAt.Truncate(r.RUL.Step))
	default:
		return r.Anomaly.IsAnomaly, w.fresh(r.Anomaly.SampledAt)
	}
}
