package learn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

func TestCalibrationMendsProbabilitiesThatAreTooSure(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(n int) (sure []float64, events []bool) {
		for range n {
			odds := 2 * random.NormFloat64()
			events = append(events, random.Float64() < 1/(1+math.Exp(-odds)))
			sure = append(sure, 1/(1+math.Exp(-3*odds)))
		}
		return sure, events
	}
	scores, events := draw(5000)
	test, happened := draw(5000)
	isotonic, err := learn.FitIsotonic(scores, events)
	require.NoError(t, err)
	odds := make([]float64, len(scores))
	for i, p := range scores {
		odds[i] = math.Log(p / (1 - p))
	}
	platt, err := learn.FitPlatt(odds, events, nil)
	require.NoError(t, err)
	before, err := learn.CalibrationError(test, happened, nil)
	require.NoError(t, err)
	require.Greater(t, before, 0.1)
	for name, mended := range map[string]func(p float64) float64{
		"isotonic": isotonic.Probability,
		"platt":    func(p float64) float64 { return platt.Probability(math.Log(p / (1 - p))) },
	} {
		probabilities := make([]float64, len(test))
		for i, p := range test {
			probabilities[i] = mended(p)
		}
		after, err := learn.CalibrationError(probabilities, happened, nil)
		require.NoError(t, err)
		require.Less(t, after, 0.02, name)
	}
}

func TestCalibrationOfSeparatedScoresEnds(t *testing.T) {
	scores, events := []float64{-700, -700, 700, 700}, []bool{false, false, true, true}
	platt, err := learn.FitPlatt(scores, events, nil)
	require.NoError(t, err)
	require.InDelta(t, 0.75, platt.Probability(700), 0.01) // one more row of each kind counts
	require.InDelta(t, 0.25, platt.Probability(-700), 0.01)
	isotonic, err := learn.FitIsotonic(scores, events)
	require.NoError(t, err)
	require.InDelta(t, 0.5, isotonic.Probability(0), 1e-12)
	require.InDelta(t, 0, isotonic.Probability(-1000), 0)
	require.InDelta(t, 1, isotonic.Probability(1000), 0)
	require.True(t, math.IsNaN(isotonic.Probability(math.NaN())) && math.IsNaN(platt.Probability(math.NaN())))

	same, err := learn.FitPlatt([]float64{2, 2, 2, 2}, []bool{true, false, false, false}, nil)
	require.NoError(t, err)
	require.InDelta(t, (2.0/3+3*0.2)/4, same.Probability(2), 1e-6) // the mean of the labels
}

func TestCalibrationRefusesUnusableData(t *testing.T) {
	for name, c := range map[string]struct {
		scores []float64
		events []bool
	}{
		"none":     {nil, nil},
		"lengths":  {[]float64{1}, []bool{true, false}},
		"NaN":      {[]float64{math.NaN(), 1}, []bool{true, false}},
		"infinite": {[]float64{math.Inf(1), 1}, []bool{true, false}},
	} {
		_, err := learn.FitIsotonic(c.scores, c.events)
		require.ErrorIs(t, err, learn.ErrData, name)
		_, err = learn.FitPlatt(c.scores, c.events, nil)
		require.ErrorIs(t, err, learn.ErrData, name)
		_, err = learn.CalibrationError(c.scores, c.events, nil)
		require.ErrorIs(t, err, learn.ErrData, name)
	}
	_, err := learn.FitPlatt([]float64{1, 2}, []bool{true, true}, nil)
	require.ErrorIs(t, err, learn.ErrData)
	_, err = learn.Brier([]float64{1.5}, []bool{true}, nil)
	require.ErrorContains(t, err, "probabilities[0] is 1.5")
	_, err = learn.Reliability([]float64{0.5}, []bool{true}, nil, 0)
	require.ErrorContains(t, err, "0 bins")
}

// TestWeightsAreRepetitions compares rows that have weights with rows that are there as often.
func TestWeightsAreRepetitions(t *testing.T) {
	var scores, weights, allScores []float64
	var events, allEvents []bool
	for i := range 200 {
		p := (float64(i) + 0.5) / 200
		w := i%4 + 1
		scores, events, weights = append(scores, p), append(events, i*i%7 < 1+i/60), append(weights, float64(w))
		for range w {
			allScores, allEvents = append(allScores, p), append(allEvents, events[i])
		}
	}
	for name, of := range map[string]func(scores []float64, events []bool, weights []float64) (float64, error){
		"ROC AUC": learn.ROCAUC, "ECE": learn.CalibrationError, "Brier": learn.Brier,
		"Platt": func(scores []float64, events []bool, weights []float64) (float64, error) {
			c, err := learn.FitPlatt(scores, events, weights)
			if err != nil {
				return 0, err
			}
			return c.Probability(0.3), nil
		},
		"Reliability": func(scores []float64, events []bool, weights []float64) (sum float64, err error) {
			bins, err := learn.Reliability(scores, events, weights, 10)
			for _, b := range bins {
				sum += b.Weight * (b.Observed + 3*b.Predicted)
			}
			return sum, err
		},
	} {
		want, err := of(allScores, allEvents, nil)
		require.NoError(t, err, name)
		got, err := of(scores, events, weights)
		require.NoError(t, err, name)
		require.InDelta(t, want, got, 1e-9, name)
		other, err := of(scores, events, nil)
		require.NoError(t, err, name)
		require.NotEqual(t, want, other, name)
		_, err = of(scores, events, weights[1:])
		require.ErrorIs(t, err, learn.ErrData, name)
		weights[3] = -weights[3]
		_, err = of(scores, events, weights)
		require.ErrorContains(t, err, "Weights[3] is -4", name)
		weights[3] = 4
	}
}
