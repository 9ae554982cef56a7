package predictive

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive/features"
)

// Model answers predictions in place of the trained model of a type; see [Deps.Models]. It is safe for concurrent use. Package
// predictive/remote has one that asks a server.
//
// Predict returns an error if it has no answer. An answer that breaks the rules of [ModelOutput] counts as none: the caller gets
// [ErrModelNotAvailable] with the reason.
type Model interface {
	Predict(ctx context.Context, input ModelInput) (ModelOutput, error)
}

// InputSpecifier is an optional part of a [Model] that chooses its inputs. It is asked once.
type InputSpecifier interface {
	InputSpec() InputSpec
}

// InputSpec tells what a [Model] needs.
type InputSpec struct {
	// Step is what the features are counted in: a window is 30 of them. It is the column stepSeconds of [Service.Export]; rows are
	// farther apart if some were left out. Default: that of [Options.Features]. One of both is needed.
	Step time.Duration
	// Roles are those of the tags that an RUL model knows; default: all tags of the equipment, at most 64. See [Tag.Role].
	Roles []string
	// Samples is how many samples of each tag the model gets, the newest of the window, at most 5000. Default: none.
	Samples int
}

// maxInputSamples bounds [InputSpec.Samples].
const maxInputSamples = 5000

// ModelInput is what a [Model] predicts from.
type ModelInput struct {
	ModelType   ModelType
	EquipmentID string
	// TagID and Role are those of a failure prediction, ComponentName is that of a remaining life.
	TagID         string
	Role          string
	ComponentName string
	// At is the moment of the prediction, Horizon how far ahead a failure is predicted, and Step what the features are counted in.
	At      time.Time
	Horizon time.Duration
	Step    time.Duration
	// Names and Values are the features of package features, NaN where there are too few samples. Those of a remaining life are named
	// role.kind as in the training set, and so are the settings of an equipment, whose conditions are not told apart. Those of a
	// failure prediction are named by their kinds, and also have the columns of the training set, such as trend/stdDev. The last one is age:
	// the hours since the life began, NaN if that is not known.
	Names  []string
	Values []float64
	// Samples has the samples that [InputSpec.Samples] asks for, by the ids of tags, oldest first.
	Samples map[string][]Sample
}

// ModelOutput is the answer of a [Model]. Numbers are finite. Those of the other model type do not count.
type ModelOutput struct {
	// Probability is the probability of a failure within the horizon, from 0 to 1, and Threshold that from which Failure is predicted: above 0
	// and at most 1. Default: 0.5.
	Probability float64
	Threshold   float64
	// Days is the remaining life in days. LowDays and HighDays limit it with a probability of 90%: 0 <= LowDays <= Days <= HighDays.
	Days     float64
	LowDays  float64
	HighDays float64
	// CapDays is the longest life that the model predicts, from which the health score is counted. Default: [Options.MaxLife], or else ten times
	// the horizon.
	CapDays float64
	// Confidence is how far the model trusts its answer, from 0 to 1. Nil means 0.5. It is multiplied by the support and the freshness of the samples.
	Confidence *float64
}

// maxDays limits remaining lives, so that dates can be computed: a hundred years.
const maxDays = 36_525

// check returns what is wrong with an answer, "" for nothing.
func (o *ModelOutput) check(t ModelType) string {
	if o.Confidence != nil && !within01(*o.Confidence) {
		return "its confidence is not from 0 to 1"
	}
	switch {
	case t == FailureModel && !within01(o.Probability):
		return "its probability is not from 0 to 1"
	case t == FailureModel && !within01(o.Threshold):
		return "its threshold is not above 0 and at most 1"
	case t == RULModel && !(o.Days >= 0 && o.Days <= maxDays):
		return "its days are not from 0 to 36525"
	case t == RULModel && !(o.LowDays >= 0 && o.LowDays <= o.Days && o.HighDays >= o.Days && o.HighDays <= maxDays):
		return "its lowDays and highDays are not around its days"
	case t == RULModel && !(o.CapDays >= 0 && o.CapDays <= maxDays):
		return "its capDays are not from 0 to 36525"
	}
	return ""
}

func within01(v float64) bool { return v >= 0 && v <= 1 }

// external is a [Model] with what its inputs are computed by.
type external struct {
	model   Model
	spec    InputSpec
	options features.Options

	mu         sync.Mutex
	extractors map[string]*features.Extractor // by their signals
}

// maxExtractors bounds the memory: then all are forgotten.
const maxExtractors = 1000

// externals checks models and returns them with their inputs.
func externals(models map[ModelType]Model, o Options) (map[ModelType]*external, error) {
	list := make(map[ModelType]*external, len(models))
	for t, m := range models {
		path := "Deps.Models[" + string(t) + "]"
		if !slices.Contains(ModelTypes(), t) {
			return nil, fault.Option(pkg, path, "is not a model type; FailurePrediction and RUL are allowed")
		}
		if m == nil {
			return nil, fault.Option(pkg, path, "is nil")
		}
		x := &external{model: m, options: o.Features, extractors: make(map[string]*features.Extractor)}
		if s, ok := m.(InputSpecifier); ok {
			x.spec = s.InputSpec()
		}
		if x.spec.Step != 0 {
			x.options.Step = x.spec.Step
		}
		if x.options.Step <= 0 {
			return nil, fault.Option(pkg, path, "needs a step: set Options.Features.Step or that of its InputSpec to the step of the training set")
		}
		if n := x.spec.Samples; n < 0 || n > maxInputSamples {
			return nil, fault.Option(pkg, path, "asks for %d samples, want 0 to %d", n, maxInputSamples)
		}
		if n := len(x.spec.Roles); n > maxSignals {
			return nil, fault.Option(pkg, path, "has %d roles, want at most %d", n, maxSignals)
		}
		list[t] = x
	}
	return list, nil
}

// extractor returns what computes the features of signals.
func (x *external) extractor(ctx context.Context, signals []features.Signal) (*features.Extractor, error) {
	key := ""
	for _, s := range signals {
		key += s.Name + "\x00"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.extractors[key]; known != nil {
		return known, nil
	}
	made, err := newPlainExtractor(ctx, signals, x.options)
	if err != nil {
		return nil, err
	}
	if len(x.extractors) >= maxExtractors {
		clear(x.extractors)
	}
	x.extractors[key] = made
	return made, nil
}

// signals returns the tags of an equipment that an RUL model gets.
func (x *external) signals(tags []Tag) (list []features.Signal) {
	roles := x.spec.Roles
	if len(roles) == 0 {
		for _, t := range tags {
			roles = append(roles, t.Role)
		}
	}
	seen := make(map[string]bool)
	for _, role := range roles {
		if !seen[role] && len(list) < maxSignals {
			seen[role] = true
			list = append(list, features.Signal{Name: role})
		}
	}
	return list
}

// question is a prediction that a [Model] is asked for.
type question struct {
	input   ModelInput
	signals []features.Signal
	inputs  []input
	life    life
}

// ask computes the features of a question and returns the checked answer.
func (s *Service) ask(ctx context.Context, x *external, q *question) (o observation, answer ModelOutput, err error) {
	extractor, err := x.extractor(ctx, q.signals)
	if err != nil {
		return o, answer, err
	}
	q.input.Horizon, q.input.Step = s.o.Horizon, extractor.Step()
	if o, err = s.observe(ctx, &predictor{extractor: extractor}, q.inputs, q.life, q.input.At); err != nil {
		return o, answer, err
	}
	q.input.Names, q.input.Values = extractor.Names(), o.raw
	if q.input.ModelType == FailureModel {
		q.input.Names, q.input.Values = failureColumns(o.raw)
	}
	if x.spec.Samples > 0 {
		q.input.Samples = make(map[string][]Sample, len(q.inputs))
		for _, in := range q.inputs {
			from := laterOf(q.input.At.Add(-extractor.Span()), q.life.from)
			if q.input.Samples[in.tag], err = s.newest(ctx, in.tag, from, q.input.At.Add(1), x.spec.Samples); err != nil {
				return o, answer, err
			}
		}
	}
	answer, err = x.model.Predict(ctx, q.input)
	switch _, known := fault.From(err); {
	case ctx.Err() != nil:
		return o, answer, ctx.Err()
	case err != nil && !known:
		err = ErrModelNotAvailable.Because("the model of type %s gave no answer", q.input.ModelType).Wrap(err)
	case err == nil:
		if answer.Threshold == 0 {
			answer.Threshold = 0.5
		}
		if problem := answer.check(q.input.ModelType); problem != "" {
			err = ErrModelNotAvailable.Because("the answer of the model of type %s cannot be used: %s", q.input.ModelType, problem)
		}
	}
	return o, answer, err
}

// failureColumns returns a row of a plain extractor of one tag with the columns of the pooled model.
func failureColumns(row []float64) (names []string, values []float64) {
	age := len(row) - 1
	for i, kind := range features.Kinds()[:age] {
		names, values = append(names, string(kind)), append(values, row[i])
	}
	return append(names, shapeNames()...), append(values, shape(row)...)
}

// externalFailure is [Service.FailurePrediction] by a model of the caller.
func (s *Service) externalFailure(ctx context.Context, x *external, equipment string, tag Tag) (FailurePrediction, error) {
	now := s.o.Clock()
	r, err := s.records(ctx, equipment, now)
	if err != nil {
		return FailurePrediction{}, err
	}
	q := &question{input: ModelInput{ModelType: FailureModel, EquipmentID: equipment, TagID: tag.ID, Role: tag.Role, At: now},
		signals: []features.Signal{{Name: pooledSignal}}, inputs: []input{{0, tag.ID, false}}, life: openLife(equipment, r.events(), now.Add(-s.o.Lookback), now)}
	o, answer, err := s.ask(ctx, x, q)
	if err != nil {
		return FailurePrediction{}, err
	}
	f := FailurePrediction{EquipmentID: equipment, TagID: tag.ID, FailureProbability: answer.Probability, Prediction: PredictionNormal,
		PredictedAt: now, SampledAt: o.newest, Step: q.input.Step, LifeStart: q.life.start, Features: threeOf(q.input.Names, q.input.Values),
		Threshold: answer.Threshold, HorizonHours: s.o.Horizon.Hours()}
	if f.FailureProbability >= f.Threshold {
		f.Prediction = PredictionFailure
	}
	f.ConfidenceDetail = answer.confidence(o, 1)
	f.Confidence = f.ConfidenceDetail.product()
	return f, nil
}

// externalRUL is [Service.RUL] by a model of the caller.
func (s *Service) externalRUL(ctx context.Context, x *external, tags []Tag, q *question) (RUL, error) {
	q.input.ModelType = RULModel
	q.signals = x.signals(tags)
	if len(q.signals) == 0 {
		return RUL{}, insufficient("the equipment has no tags")
	}
	q.inputs = inputsOf(q.signals, tags)
	o, answer, err := s.ask(ctx, x, q)
	if err != nil {
		return RUL{}, err
	}
	limit := answer.CapDays * 24
	if limit == 0 {
		if limit = s.o.MaxLife.Hours(); limit == 0 {
			limit = 10 * s.o.Horizon.Hours()
		}
	}
	r := newRUL(RUL{EquipmentID: q.input.EquipmentID, ComponentName: q.input.ComponentName, PredictedAt: q.input.At,
		SampledAt: o.newest, Step: q.input.Step, LifeStart: q.life.start}, answer.Days*24, limit, s.o.Horizon.Hours())
	r.LowDays, r.HighDays, r.Capped = answer.LowDays, answer.HighDays, r.Capped && answer.CapDays > 0
	r.ConfidenceDetail = answer.confidence(o, 1-unit((r.HighDays-r.LowDays)*24/limit))
	r.Confidence = r.ConfidenceDetail.product()
	return r, nil
}

// confidence returns the factors of an answer. Whether the features are as in training, only the model can tell.
func (o *ModelOutput) confidence(seen observation, precision float64) Confidence {
	c := Confidence{Support: seen.support, Freshness: seen.freshness, InDistribution: 1, Precision: precision, Model: 0.5}
	if o.Confidence != nil {
		c.Model = *o.Confidence
	}
	return c
}
