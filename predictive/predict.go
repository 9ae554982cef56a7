package predictive

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive/features"
)

// Answer is how a prediction ended, for [Options.OnAnswer].
type Answer struct {
	// Call is the method of the Service, such as FailurePrediction.
	Call string
	// Positive is set if a failure was predicted, a remaining life ends within the horizon, or the newest samples are anomalous.
	Positive bool
	Err      error
	Took     time.Duration
}

// tell calls OnAnswer.
func (s *Service) tell(call string, began time.Time, positive bool, err error) {
	if s.o.OnAnswer != nil {
		s.o.OnAnswer(Answer{call, err == nil && positive, err, time.Since(began)})
	}
}

// FailurePrediction returns the probability that an equipment fails within the horizon, from the newest window of one of its
// tags.
func (s *Service) FailurePrediction(ctx context.Context, equipment, tag string) (FailurePrediction, error) {
	began := time.Now()
	answer, err := s.failurePrediction(ctx, equipment, tag)
	s.tell("FailurePrediction", began, answer.Prediction == PredictionFailure, err)
	return answer, err
}

// RUL returns the remaining useful life of a component.
func (s *Service) RUL(ctx context.Context, equipment, component string) (RUL, error) {
	began := time.Now()
	answer, err := s.rul(ctx, equipment, component)
	s.tell("RUL", began, answer.PredictedFailureDate.Sub(answer.PredictedAt) <= s.o.Horizon, err)
	return answer, err
}

// Anomaly judges the newest sample of a tag by those before it. It changes nothing.
func (s *Service) Anomaly(ctx context.Context, tag string) (Anomaly, error) {
	began := time.Now()
	answer, err := s.anomaly(ctx, tag)
	s.tell("Anomaly", began, answer.IsAnomaly, err)
	return answer, err
}

// Multivariate judges the newest values of 2 to 64 tags by how they moved together before. It changes nothing. Repeated tags count once.
//
// The values are aligned to rows of equal distance: each tag holds its last value, but no longer than [Options.Staleness] or ten rows. The rows
// reach back as far as [Options.AnomalySamples] of each tag do.
func (s *Service) Multivariate(ctx context.Context, tags []string) (Multivariate, error) {
	began := time.Now()
	answer, err := s.multivariate(ctx, tags)
	s.tell("Multivariate", began, answer.IsAnomaly, err)
	return answer, err
}

func (s *Service) failurePrediction(ctx context.Context, equipment, tag string) (FailurePrediction, error) {
	tags, err := s.known(ctx, equipment)
	if err != nil {
		return FailurePrediction{}, err
	}
	at := slices.IndexFunc(tags, func(t Tag) bool { return t.ID == tag })
	if at < 0 {
		return FailurePrediction{}, ErrUnknownTag.With("tagId", tag).Because("the equipment %s has no tag %s", equipment, tag)
	}
	if x := s.externals[FailureModel]; x != nil {
		return s.externalFailure(ctx, x, equipment, tags[at])
	}
	b, meta, err := s.model(ctx, FailureModel)
	if err != nil {
		return FailurePrediction{}, err
	}
	p, pooled := b.find(tags[at].Role)
	if p == nil {
		return FailurePrediction{}, ErrModelNotAvailable.Because("the model does not know tags such as %s", tag)
	}
	now := s.o.Clock()
	r, err := s.records(ctx, equipment, now)
	if err != nil {
		return FailurePrediction{}, err
	}
	var own []Tag
	for _, t := range tags {
		if t.Setting && t.Role != tags[at].Role {
			own = append(own, t)
		}
	}
	inputs := inputsOf(p.extractor.Signals(), append(own, tags[at]))
	if p.shape {
		inputs = []input{{0, tag, false}}
	}
	l := openLife(equipment, r.events(), now.Add(-s.o.Lookback), now)
	o, err := s.observe(ctx, p, inputs, l, now)
	if err != nil {
		return FailurePrediction{}, err
	}
	result := FailurePrediction{EquipmentID: equipment, TagID: tag, FailureProbability: p.probability(o.row), Prediction: PredictionNormal,
		PredictedAt: now, SampledAt: o.newest, Step: p.extractor.Step(), LifeStart: l.start, Features: threeOf(p.extractor.Names(), o.raw), Threshold: p.threshold,
		HorizonHours: b.horizon, ModelVersion: meta.Version}
	if result.FailureProbability >= p.threshold {
		result.Prediction = PredictionFailure
	}
	result.ConfidenceDetail = p.confidence(o, pooled, 1)
	result.Confidence = result.ConfidenceDetail.product()
	return result, nil
}

// threeOf returns the mean, the deviation and the trend of the signal of a row.
func threeOf(names []string, row []float64) (f FailureFeatures) {
	for i, name := range names {
		v := row[i]
		if !finite(v) {
			continue
		}
		switch features.Kind(name[strings.LastIndexByte(name, '.')+1:]) {
		case features.Mean:
			f.Mean = v
		case features.StdDev:
			f.StdDev = v
		case features.Trend:
			f.Trend = v
		}
	}
	return f
}

func (s *Service) rul(ctx context.Context, equipment, component string) (RUL, error) {
	tags, err := s.known(ctx, equipment)
	if err != nil {
		return RUL{}, err
	}
	now := s.o.Clock()
	r, err := s.records(ctx, equipment, now)
	if err != nil {
		return RUL{}, err
	}
	if !slices.Contains(s.componentsOf(r), component) {
		return RUL{}, ErrUnknownComponent.With("componentName", component).Because("the equipment %s has no component %s", equipment, component)
	}
	l := r.current(equipment, component, now.Add(-s.o.Lookback), now)
	if x := s.externals[RULModel]; x != nil {
		return s.externalRUL(ctx, x, tags, &question{input: ModelInput{EquipmentID: equipment, ComponentName: component, At: now}, life: l})
	}
	b, meta, err := s.model(ctx, RULModel)
	if err != nil {
		return RUL{}, err
	}
	p, pooled := b.find(component)
	if p == nil {
		return RUL{}, ErrModelNotAvailable.Because("the model does not know the component %s", component)
	}
	o, err := s.observe(ctx, p, inputsOf(p.extractor.Signals(), tags), l, now)
	if err != nil {
		return RUL{}, err
	}
	hours := p.hours(o.row)
	low, high := p.interval(hours)
	result := newRUL(RUL{EquipmentID: equipment, ComponentName: component, PredictedAt: now, SampledAt: o.newest, Step: p.extractor.Step(),
		LifeStart: l.start, ModelVersion: meta.Version}, hours, p.limit, b.horizon)
	result.LowDays, result.HighDays = low/24, high/24
	result.ConfidenceDetail = p.confidence(o, pooled, 1-unit((high-low)/p.limit))
	result.Confidence = result.ConfidenceDetail.product()
	return result, nil
}

// newRUL returns r with what follows from the remaining hours, the longest life that the model predicts and the horizon.
func newRUL(r RUL, hours, limit, horizon float64) RUL {
	r.RULDays, r.Capped, r.HealthScore = int(hours/24), hours >= 0.98*limit, unit(hours/limit)
	r.PredictedFailureDate = r.PredictedAt.Add(time.Duration(hours * float64(time.Hour)))
	r.Recommendation = recommend(r.HealthScore, hours, horizon)
	return r
}

// recommend returns what to do about a component.
func recommend(health, hours, horizon float64) string {
	switch {
	case health < 0.1:
		return "Replace immediately: failure is imminent."
	case hours <= horizon || health < 0.3:
		return "Schedule replacement now: the remaining life is short."
	case health < 0.6:
		return "Plan maintenance and order spare parts."
	default:
		return "No action needed: continue to monitor."
	}
}

// observation is what a predictor sees of an equipment now.
type observation struct {
	row       []float64 // for the predictor
	raw       []float64 // of its extractor
	support   float64
	freshness float64
	newest    time.Time // sample of a signal that is no setting
}

// observe computes the features of a life as of now. It reads the beginning of the life, which makes its baseline, and the newest
// window.
func (s *Service) observe(ctx context.Context, p *predictor, inputs []input, l life, now time.Time) (o observation, err error) {
	x := p.extractor
	signals, dropped := x.Signals(), x.Dropped()
	inputs = slices.DeleteFunc(slices.Clone(inputs), func(in input) bool { return slices.Contains(dropped, signals[in.signal].Name) })
	from := now.Add(-x.Span())
	stops, err := s.downtime(ctx, l.equipment, l.from, now)
	if err != nil {
		return o, err
	}
	seen := make(map[int]*presence)
	for _, in := range inputs {
		if !in.setting {
			seen[in.signal] = &presence{}
		}
	}
	steps := x.Span() / x.Step()
	use := func(state *features.Life) func(int, time.Time, float64) error {
		return func(signal int, at time.Time, value float64) error {
			if !within(stops, at) && state.Add(signal, at, value) && seen[signal] != nil && !at.Before(from) {
				seen[signal].add(at, x.Step())
			}
			return nil
		}
	}
	state := x.Begin(l.start)
	if head := l.from.Add(x.Span()*2 + x.Step()); head.Before(from) {
		baseline, err := s.baseline(ctx, x, inputs, l, stops, from)
		if err != nil {
			return o, err
		}
		state = x.Resume(l.start, baseline)
		settings := slices.DeleteFunc(slices.Clone(inputs), func(in input) bool { return !in.setting })
		if err := s.readSettings(ctx, state, settings, stops, l.from, from); err != nil {
			return o, err
		}
	} else {
		from = laterOf(from, l.from)
		if err := read(ctx, s.deps.History, inputs, l.from, from, use(state)); err != nil {
			return o, err
		}
	}
	window := &largeCounter{History: s.deps.History}
	if err := read(ctx, window, inputs, from, now.Add(1), use(state)); err != nil {
		return o, err
	}
	o.raw = make([]float64, len(x.Names()))
	if err := state.Row(now, o.raw); err != nil {
		return o, err
	}
	if o.row = o.raw; p.shape {
		o.row = shape(o.raw)
	}
	return o, o.measure(p, seen, int(steps), now, window.n)
}

// readSettings feeds the last value of each setting before a window that is not of a planned stop.
func (s *Service) readSettings(ctx context.Context, state *features.Life, settings []input, stops []Interval, from, to time.Time) error {
	for _, in := range settings {
		for until := to; until.After(from); {
			list, err := s.newest(ctx, in.tag, from, until, 1)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			at := list[0].Time
			stop := slices.IndexFunc(stops, func(i Interval) bool { return !at.Before(i.Start) && at.Before(i.End) })
			if stop < 0 {
				state.Add(in.signal, at, list[0].Value)
				break
			}
			until = stops[stop].Start
		}
	}
	return nil
}

// presence counts the steps of a window in which a signal has samples.
type presence struct {
	steps  int
	step   time.Time
	newest time.Time
}

func (p *presence) add(at time.Time, step time.Duration) {
	if s := stepEnd(at, step); p.steps == 0 || s.After(p.step) {
		p.step = s
		p.steps++
	}
	p.newest = at
}

// measure computes how much there is to see, or returns [ErrInsufficientData]. large is how many samples were left out.
func (o *observation) measure(p *predictor, seen map[int]*presence, steps int, now time.Time, large int) error {
	needed := max(steps/2, 1)
	signals, oldest, any := 0, now, false
	for i, signal := range p.extractor.Signals() {
		if signal.Setting || slices.Contains(p.extractor.Dropped(), signal.Name) {
			continue
		}
		signals++
		s := seen[i]
		if s == nil || s.steps == 0 {
			continue
		}
		any = true
		o.support += min(float64(s.steps)/float64(needed), 1)
		o.newest = laterOf(o.newest, s.newest)
		if s.newest.Before(oldest) {
			oldest = s.newest
		}
	}
	if !any {
		return insufficient("no samples in the last %s; samples in 1 to %d steps of %s are needed%s", p.extractor.Span(), needed, p.extractor.Step(), leftOut(large))
	}
	o.support = unit(o.support / float64(max(signals, 1)))
	step, span := p.extractor.Step(), p.extractor.Span()
	if age := now.Sub(oldest) - 2*step; age <= 0 {
		o.freshness = 1
	} else {
		o.freshness = unit(1 - float64(age)/float64(max(span-2*step, step)))
	}
	return nil
}

func insufficient(format string, args ...any) error {
	return ErrInsufficientData.Because(format, args...)
}

func (p *predictor) confidence(o observation, pooled bool, precision float64) Confidence {
	c := Confidence{Support: o.support, Freshness: o.freshness, InDistribution: p.domain.factor(o.row), Precision: precision, Model: 1}
	if pooled {
		c.Model = 0.5
	}
	return c
}

func (c Confidence) product() float64 {
	return unit(c.Support * c.Freshness * c.InDistribution * c.Precision * c.Model)
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// messageOf returns the text of an error for callers.
func messageOf(err error) string {
	if f, ok := fault.From(err); ok {
		return f.Message
	}
	return "internal error"
}
