package main

import (
	"context"
	"slices"
	"strings"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

// horizon is the number of cycles within which a failure is predicted.
const horizon = 30

// failure is how well a failure within the horizon is predicted, for units that the predicting model has not seen.
type failure struct {
	tag                              string // empty for all tags
	auc, precision, f1, error, brier float64
	probabilities                    []float64
	positive                         []bool
	reliability                      []learn.ReliabilityBin
}

// judgeFailure predicts failures from all features, and from the three of the tag that the model of remaining life uses most.
func judgeFailure(ctx context.Context, x *features.Extractor, train *features.Dataset, m *learn.Boost) (list []failure, err error) {
	all, err := judgeColumns(ctx, train.All(), nil)
	if err != nil {
		return nil, err
	}
	tag := mostUsed(x, m)
	var columns []int
	for i, name := range x.Names() {
		switch name {
		case tag + "." + string(features.Mean), tag + "." + string(features.StdDev), tag + "." + string(features.Trend):
			columns = append(columns, i)
		}
	}
	one, err := judgeColumns(ctx, train.All(), columns)
	one.tag = tag
	return []failure{all, one}, err
}

// mostUsed returns the tag whose columns reduce the error of a model most.
func mostUsed(x *features.Extractor, m *learn.Boost) (best string) {
	shares := make(map[string]float64)
	for i, share := range m.Importance() {
		if tag, _, ok := strings.Cut(x.Names()[i], "."); ok {
			if shares[tag] += share; shares[tag] > shares[best] {
				best = tag
			}
		}
	}
	return best
}

// judgeColumns trains with some columns, all for nil. The probabilities of a fold are calibrated with the scores of the others.
func judgeColumns(ctx context.Context, v features.View, columns []int) (f failure, err error) {
	divided, err := v.Folds(folds, 1)
	if err != nil {
		return f, err
	}
	scores, positive := make([][]float64, folds), make([][]bool, folds)
	for k, fold := range divided {
		m, err := learn.FitClassifier(ctx, some{fold.Train, columns}, near(fold.Train), learn.BoostOptions{})
		if err != nil {
			return f, err
		}
		test := some{fold.Test, columns}
		rows, cols := test.Dims()
		row := make([]float64, cols)
		for i := range rows {
			for j := range row {
				row[j] = test.At(i, j)
			}
			scores[k] = append(scores[k], m.Score(row))
		}
		positive[k] = near(fold.Test)
	}
	for k := range folds {
		others := slices.Concat(slices.Delete(slices.Clone(scores), k, k+1)...)
		c, err := learn.FitPlatt(others, slices.Concat(slices.Delete(slices.Clone(positive), k, k+1)...), nil)
		if err != nil {
			return f, err
		}
		for _, score := range scores[k] {
			f.probabilities = append(f.probabilities, c.Probability(score))
		}
		f.positive = append(f.positive, positive[k]...)
	}
	return f, f.measure()
}

// near reports of each row whether the unit fails within the horizon.
func near(v features.View) []bool {
	rows, _ := v.Dims()
	list := make([]bool, rows)
	for i := range list {
		list[i] = v.Label(i) <= horizon
	}
	return list
}

// some has some columns of a view, all for nil.
type some struct {
	features.View
	columns []int
}

func (s some) Dims() (rows, cols int) {
	rows, cols = s.View.Dims()
	if s.columns != nil {
		cols = len(s.columns)
	}
	return rows, cols
}

func (s some) At(i, j int) float64 {
	if s.columns != nil {
		j = s.columns[j]
	}
	return s.View.At(i, j)
}

func (f *failure) measure() (err error) {
	if f.auc, err = learn.ROCAUC(f.probabilities, f.positive, nil); err != nil {
		return err
	}
	if f.precision, err = learn.PRAUC(f.probabilities, f.positive); err != nil {
		return err
	}
	if f.error, err = learn.CalibrationError(f.probabilities, f.positive, nil); err != nil {
		return err
	}
	if f.brier, err = learn.Brier(f.probabilities, f.positive, nil); err != nil {
		return err
	}
	confusion, err := learn.ConfusionAt(0.5, f.probabilities, f.positive)
	if err != nil {
		return err
	}
	f.f1 = confusion.F1()
	f.reliability, err = learn.Reliability(f.probabilities, f.positive, nil, 10)
	return err
}
