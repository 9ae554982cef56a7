package learn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

func TestConfusion(t *testing.T) {
	c, err := learn.ConfusionAt(0.5, []float64{0.9, 0.5, 0.6, 0.4, 0.1}, []bool{true, true, false, true, false})
	require.NoError(t, err)
	require.Equal(t, learn.Confusion{TruePositives: 2, FalsePositives: 1, TrueNegatives: 1, FalseNegatives: 1}, c)
	require.Equal(t, 5, c.Count())
	require.InDelta(t, 0.6, c.Accuracy(), 1e-15)
	require.InDelta(t, 2.0/3, c.Precision(), 1e-15)
	require.InDelta(t, 2.0/3, c.Recall(), 1e-15)
	require.InDelta(t, 2.0/3, c.F1(), 1e-15)
	require.InDelta(t, 0.5, c.FalseAlarmRate(), 1e-15)

	var none learn.Confusion
	for _, share := range []float64{none.Accuracy(), none.Precision(), none.Recall(), none.F1(), none.FalseAlarmRate()} {
		require.Zero(t, share)
	}
}

func TestMetricsRefuseWhatCannotBeJudged(t *testing.T) {
	nan := math.NaN()
	for name, call := range map[string]func() (float64, error){
		"no scores":         func() (float64, error) { return learn.ROCAUC(nil, nil, nil) },
		"one class":         func() (float64, error) { return learn.ROCAUC([]float64{1, 2}, []bool{true, true}, nil) },
		"no event":          func() (float64, error) { return learn.PRAUC([]float64{1, 2}, []bool{false, false}) },
		"NaN":               func() (float64, error) { return learn.PRAUC([]float64{1, nan}, []bool{true, false}) },
		"lengths":           func() (float64, error) { return learn.RMSE([]float64{1}, []float64{1, 2}) },
		"no predictions":    func() (float64, error) { return learn.MAE(nil, nil) },
		"NaN prediction":    func() (float64, error) { return learn.NASAScore([]float64{nan}, []float64{1}) },
		"infinite label":    func() (float64, error) { return learn.RMSE([]float64{1}, []float64{math.Inf(1)}) },
		"infinite forecast": func() (float64, error) { return learn.MAE([]float64{math.Inf(-1)}, []float64{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			v, err := call()
			require.ErrorIs(t, err, learn.ErrData)
			require.Zero(t, v)
		})
	}
}

func TestNASAScoreCostsLatePredictionsMore(t *testing.T) {
	early, err := learn.NASAScore([]float64{90}, []float64{100})
	require.NoError(t, err)
	require.InDelta(t, math.Exp(10.0/13)-1, early, 1e-12)
	late, err := learn.NASAScore([]float64{110}, []float64{100})
	require.NoError(t, err)
	require.InDelta(t, math.E-1, late, 1e-12)
}
