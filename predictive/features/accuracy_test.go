package features_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
	"github.com/otkit/otkit/predictive/simfleet"
)

// figures are the error of the remaining life, at most 125 cycles, and how well a failure within 30 cycles is told from all
// columns and from three of one tag.
type figures struct {
	conditions          int
	rmse, all, one, ece float64
}

// judge trains with two thirds of a generated fleet and predicts each cycle of the rest.
func judge(t *testing.T, conditions int) (f figures) {
	t.Helper()
	units, err := simfleet.New(simfleet.Options{Units: 45, Seed: 1})
	require.NoError(t, err)
	if conditions > 1 {
		require.NoError(t, simfleet.Operate(units, conditions, 1))
	}
	d, x := extract(t, units, day)
	f.conditions = x.Conditions()
	fold, err := d.All().HoldOut(1./3, 1)
	require.NoError(t, err)
	capped := func(v features.View) []float64 {
		labels := v.Labels()
		for i := range labels {
			labels[i] = min(labels[i], 125)
		}
		return labels
	}
	m, err := learn.FitRegression(t.Context(), fold.Train, capped(fold.Train), learn.BoostOptions{})
	require.NoError(t, err)
	var predicted []float64
	rows, _ := fold.Test.Dims()
	for i := range rows {
		predicted = append(predicted, m.Predict(fold.Test.Row(i)))
	}
	f.rmse, err = learn.RMSE(predicted, capped(fold.Test))
	require.NoError(t, err)

	f.all, f.ece = judgeFailure(t, fold)
	three, x := extractKinds(t, units, day, features.Options{Kinds: []features.Kind{features.Mean, features.StdDev, features.Trend}}, 3)
	require.Equal(t, []string{"sensor3.mean", "sensor3.stdDev", "sensor3.trend"}, x.Names())
	fold, err = three.All().HoldOut(1./3, 1)
	require.NoError(t, err)
	f.one, _ = judgeFailure(t, fold)
	return f
}

func judgeFailure(t *testing.T, fold features.Fold) (auc, ece float64) {
	t.Helper()
	near := func(v features.View) (list []bool) {
		for _, left := range v.Labels() {
			list = append(list, left <= 30)
		}
		return list
	}
	m, err := learn.FitClassifier(t.Context(), fold.Train, near(fold.Train), learn.BoostOptions{})
	require.NoError(t, err)
	var probabilities []float64
	rows, _ := fold.Test.Dims()
	for i := range rows {
		probabilities = append(probabilities, m.Predict(fold.Test.Row(i)))
	}
	auc, err = learn.ROCAUC(probabilities, near(fold.Test), nil)
	require.NoError(t, err)
	ece, err = learn.CalibrationError(probabilities, near(fold.Test), nil)
	require.NoError(t, err)
	return auc, ece
}

// Six operating conditions, of whose number nobody is told, cost nothing.
func TestAccuracyDoesNotDependOnOperatingConditions(t *testing.T) {
	one, six := judge(t, 1), judge(t, 6)
	require.Equal(t, 1, one.conditions)
	require.Equal(t, 6, six.conditions)
	for _, f := range []figures{one, six} {
		require.Less(t, f.rmse, 18.)
		require.Greater(t, f.all, 0.99)
		require.Greater(t, f.one, 0.97)
		require.Less(t, f.ece, 0.03)
	}
	require.InDelta(t, one.rmse, six.rmse, 1.5)
}
