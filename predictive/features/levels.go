package features

import (
	"context"

	"github.com/otkit/otkit/predictive/learn"
)

// levels tell the operating condition from settings, and the scale of each signal in each condition.
type levels struct {
	conditions *learn.Conditions
	columns    []int     // of the signals with features, among all signals other than settings
	mean, dev  []float64 // of those columns, on average over the conditions
}

func fitLevels(ctx context.Context, settings, values learn.Matrix, seed uint64) (*learn.Conditions, error) {
	if _, cols := settings.Dims(); cols == 0 {
		settings = nil
	}
	return learn.FitConditions(ctx, settings, values, learn.ConditionsOptions{Seed: seed})
}

func newLevels(conditions *learn.Conditions, columns []int) levels {
	l := levels{conditions: conditions, columns: columns, mean: make([]float64, len(columns)), dev: make([]float64, len(columns))}
	n := float64(conditions.Count())
	for c := range conditions.Count() {
		means, devs := conditions.Scale(c)
		for i, column := range columns {
			l.mean[i] += means[column] / n
			l.dev[i] += devs[column] / n
		}
	}
	return l
}

// condition returns the operating condition of settings, -1 if they do not tell it.
func (l *levels) condition(settings []float64) int {
	if l.conditions.Count() == 1 {
		return 0
	}
	for _, v := range settings {
		if v != v {
			return -1
		}
	}
	return l.conditions.Find(settings)
}

// scale returns what a value of the signal at index would be in the average condition.
func (l *levels) scale(condition, index int, value float64) float64 {
	if l.conditions.Count() == 1 {
		return value
	}
	means, devs := l.conditions.Scale(condition)
	column := l.columns[index]
	value -= means[column]
	if devs[column] > 0 {
		value *= l.dev[index] / devs[column]
	}
	return l.mean[index] + value
}

// changing returns the columns with a deviation in any condition.
func changing(conditions *learn.Conditions) (columns []int) {
	means, _ := conditions.Scale(0)
	for column := range means {
		for c := range conditions.Count() {
			if _, devs := conditions.Scale(c); devs[column] > 0 {
				columns = append(columns, column)
				break
			}
		}
	}
	return columns
}
