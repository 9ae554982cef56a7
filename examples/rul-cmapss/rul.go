package main

import (
	"context"
	"time"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
	"github.com/otkit/otkit/predictive/simfleet"
)

const (
	longest = 125 // cycles; a unit that lasts longer counts as healthy
	folds   = 5
)

// rul is how well the remaining life of the test units is predicted.
type rul struct {
	conditions                 int
	predicted, actual          []float64 // at the last cycle of each test unit, at most longest
	low, high                  []float64
	rmse, score, mae, uncapped float64
	covered, width             float64 // share of units in their interval, and its mean width
	fit                        time.Duration
	perRow, fromRaw            time.Duration
	bytes                      int
	model                      *learn.Boost
}

// judgeRUL trains with the units that ran to failure and predicts the others.
func judgeRUL(ctx context.Context, f fleet, x *features.Extractor, train *features.Dataset) (rul, error) {
	r := rul{conditions: x.Conditions()}
	test, err := newDataset(x, f.test)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	if r.model, err = fitRUL(ctx, train.All()); err != nil {
		return r, err
	}
	r.fit = time.Since(begun)
	data, err := r.model.MarshalBinary()
	if err != nil {
		return r, err
	}
	r.bytes = len(data)
	intervals, err := intervalsOf(ctx, train.All())
	if err != nil {
		return r, err
	}
	v := test.All()
	rows, _ := v.Dims()
	var uncapped []float64
	for i := range rows {
		if i < rows-1 && v.Group(i) == v.Group(i+1) {
			continue
		}
		p := predictRUL(r.model, v.Row(i))
		low, high := intervals.Interval(p)
		low, high = max(low, 0), min(high, longest)
		actual := min(v.Label(i), longest)
		if low <= actual && actual <= high {
			r.covered++
		}
		r.width += high - low
		r.predicted, r.actual = append(r.predicted, p), append(r.actual, actual)
		r.low, r.high, uncapped = append(r.low, low), append(r.high, high), append(uncapped, v.Label(i))
	}
	r.covered, r.width = r.covered/float64(len(r.actual)), r.width/float64(len(r.actual))
	if err := r.measure(uncapped); err != nil {
		return r, err
	}
	return r, r.clock(f.test, x, v)
}

// fitRUL uses one core, so that its time can be compared.
func fitRUL(ctx context.Context, v features.View) (*learn.Boost, error) {
	labels := v.Labels()
	for i := range labels {
		labels[i] = min(labels[i], longest)
	}
	return learn.FitRegression(ctx, v, labels, learn.BoostOptions{Workers: 1})
}

func predictRUL(m *learn.Boost, row []float64) float64 { return min(max(m.Predict(row), 0), longest) }

// intervalsOf fits intervals to predictions of units that the predicting model has not seen. Cycles with more than the longest life
// before them are easy: counting them would make the intervals too narrow for units that wear.
func intervalsOf(ctx context.Context, v features.View) (*learn.Conformal, error) {
	divided, err := v.Folds(folds, 1)
	if err != nil {
		return nil, err
	}
	var predicted, actual []float64
	for _, fold := range divided {
		m, err := fitRUL(ctx, fold.Train)
		if err != nil {
			return nil, err
		}
		rows, _ := fold.Test.Dims()
		for i := range rows {
			if left := fold.Test.Label(i); left <= longest {
				predicted, actual = append(predicted, predictRUL(m, fold.Test.Row(i))), append(actual, left)
			}
		}
	}
	return learn.FitConformal(predicted, actual, learn.ConformalOptions{})
}

func (r *rul) measure(uncapped []float64) (err error) {
	if r.rmse, err = learn.RMSE(r.predicted, r.actual); err != nil {
		return err
	}
	if r.score, err = learn.NASAScore(r.predicted, r.actual); err != nil {
		return err
	}
	if r.mae, err = learn.MAE(r.predicted, r.actual); err != nil {
		return err
	}
	r.uncapped, err = learn.RMSE(r.predicted, uncapped)
	return err
}

// clock measures a prediction from features, and from the raw history of a unit.
func (r *rul) clock(units []simfleet.Unit, x *features.Extractor, v features.View) error {
	rows, _ := v.Dims()
	begun := time.Now()
	for i := range rows {
		predictRUL(r.model, v.Row(i))
	}
	r.perRow = time.Since(begun) / time.Duration(rows)
	row := make([]float64, len(x.Names()))
	begun = time.Now()
	for _, u := range units {
		life := x.Begin(begin)
		add := func(signal int, at time.Time, value float64) { life.Add(signal, at, value) }
		for cycle := range u.Sensors {
			samples(u, cycle, add)
		}
		if err := life.Row(timeOf(len(u.Sensors)), row); err != nil {
			return err
		}
		predictRUL(r.model, row)
	}
	r.fromRaw = time.Since(begun) / time.Duration(len(units))
	return nil
}
