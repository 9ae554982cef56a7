package predictive

import (
	"maps"

	"github.com/otkit/otkit/predictive/learn"
)

// evaluation has the predictions of a test. Those of several predictors are joined.
type evaluation struct {
	how string
	// lives ended by a failure. Of the unfinished ones, only rows that are farther than the horizon from their ends are judged, as no failure was near.
	lives, unfinished map[lifeEnd]bool
	confusion         learn.Confusion
	// of failures
	probabilities []float64
	positive      []bool
	weights       []float64 // see [features.View.Weight]
	// of remaining lives, in hours
	predicted, actual []float64
	covered           int
	limits            []float64
}

func (l lesson) judgeFailure(p *predictor, d divided) evaluation {
	e := evaluation{how: d.how, positive: d.test.near(l.horizon)}
	e.lives, e.unfinished = l.table.livesIn(d.test)
	for i := range d.test.rows {
		probability := p.probability(d.test.Row(i))
		e.probabilities = append(e.probabilities, probability)
		e.weights = append(e.weights, d.test.Weight(i))
		e.decide(probability >= p.threshold, e.positive[i], d.test.Weight(i))
	}
	return e
}

// judgeRUL judges by remaining lives of at most the limit of the predictor: what is longer counts as the limit. The rows of lives that have not
// failed tell only whether a failure was near.
func (l lesson) judgeRUL(p *predictor, d divided) evaluation {
	e := evaluation{how: d.how, limits: []float64{p.limit}}
	e.lives, e.unfinished = l.table.livesIn(d.test)
	for i := range d.test.rows {
		predicted, left := p.hours(d.test.Row(i)), d.test.Label(i)
		e.decide(predicted <= l.horizon, left <= l.horizon, d.test.Weight(i))
		if !l.table.lives[d.test.Group(i)].failed {
			continue
		}
		actual := min(left, p.limit)
		e.predicted, e.actual = append(e.predicted, predicted), append(e.actual, actual)
		if low, high := p.interval(predicted); low <= actual && actual <= high {
			e.covered++
		}
	}
	return e
}

func (e *evaluation) decide(decided, actual bool, weight float64) {
	e.confusion = joined(e.confusion, decision(decided, actual, weight))
}

// decision returns the confusion of the decision about a row, which stands for some.
func decision(decided, actual bool, weight float64) learn.Confusion {
	rows := int(weight)
	switch {
	case decided && actual:
		return learn.Confusion{TruePositives: rows}
	case decided:
		return learn.Confusion{FalsePositives: rows}
	case actual:
		return learn.Confusion{FalseNegatives: rows}
	default:
		return learn.Confusion{TrueNegatives: rows}
	}
}

func joined(a, b learn.Confusion) learn.Confusion {
	return learn.Confusion{TruePositives: a.TruePositives + b.TruePositives, FalsePositives: a.FalsePositives + b.FalsePositives,
		TrueNegatives: a.TrueNegatives + b.TrueNegatives, FalseNegatives: a.FalseNegatives + b.FalseNegatives}
}

// join adds the predictions of another evaluation.
func (e *evaluation) join(o evaluation) {
	if e.how == "" || o.how == SplitUnits {
		e.how = o.how
	}
	if e.lives == nil {
		e.lives, e.unfinished = make(map[lifeEnd]bool), make(map[lifeEnd]bool)
	}
	maps.Copy(e.lives, o.lives)
	maps.Copy(e.unfinished, o.unfinished)
	e.confusion = joined(e.confusion, o.confusion)
	e.probabilities, e.positive = append(e.probabilities, o.probabilities...), append(e.positive, o.positive...)
	e.weights = append(e.weights, o.weights...)
	e.predicted, e.actual = append(e.predicted, o.predicted...), append(e.actual, o.actual...)
	e.covered += o.covered
	e.limits = append(e.limits, o.limits...)
}

// metrics returns the figures. Those that need both classes are left out without them.
func (e *evaluation) metrics(t ModelType) Metrics {
	c := e.confusion
	m := Metrics{ModelType: t, TestSampleCount: c.Count(), Accuracy: c.Accuracy(), Precision: c.Precision(), Recall: c.Recall(), F1Score: c.F1(),
		ConfusionMatrix: ConfusionMatrix{c.TruePositives, c.TrueNegatives, c.FalsePositives, c.FalseNegatives}, Split: e.how, TestLives: len(e.lives),
		UnfinishedLives: len(e.unfinished)}
	if t == FailureModel {
		m.AUC = figure(learn.ROCAUC(e.probabilities, e.positive, e.weights))
		m.ECE = figure(learn.CalibrationError(e.probabilities, e.positive, e.weights))
		m.Brier = figure(learn.Brier(e.probabilities, e.positive, e.weights))
		if bins, err := learn.Reliability(e.probabilities, e.positive, e.weights, 10); err == nil {
			for _, b := range bins {
				m.Calibration = append(m.Calibration, Calibration{b.Low, b.High, b.Predicted, b.Observed, int(b.Weight)})
			}
		}
		return m
	}
	predicted, actual := inDays(e.predicted), inDays(e.actual)
	m.RMSE, m.MAE = figure(learn.RMSE(predicted, actual)), figure(learn.MAE(predicted, actual))
	m.NASAScore = figure(learn.NASAScore(predicted, actual))
	if n := len(predicted); n > 0 {
		m.Coverage = figure(float64(e.covered)/float64(n), nil)
		longest := 0.
		for _, limit := range e.limits {
			longest = max(longest, limit/24)
		}
		m.CapDays = &longest
	}
	return m
}

// figure returns v unless it is not known.
func figure(v float64, err error) *float64 {
	if err != nil || !finite(v) {
		return nil
	}
	return &v
}

func inDays(hours []float64) []float64 {
	list := make([]float64, len(hours))
	for i, v := range hours {
		list[i] = v / 24
	}
	return list
}
