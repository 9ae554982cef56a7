package learn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// The spread grows with the prediction; so must the intervals, each with its coverage.
func TestConformalCoversInEveryRange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(n int) (predicted, actual []float64) {
		for range n {
			p := 100 * random.Float64()
			predicted, actual = append(predicted, p), append(actual, p+(1+p/10)*random.NormFloat64())
		}
		return predicted, actual
	}
	predicted, actual := draw(2000)
	intervals, err := learn.FitConformal(predicted, actual, learn.ConformalOptions{})
	require.NoError(t, err)
	require.InDelta(t, 0.9, intervals.Coverage(), 0)
	test, truth := draw(20000)
	var covered, count [5]float64
	for i, p := range test {
		bin := min(int(p/20), 4)
		low, high := intervals.Interval(p)
		count[bin]++
		if low <= truth[i] && truth[i] <= high {
			covered[bin]++
		}
	}
	for bin := range count {
		require.InDelta(t, 0.9, covered[bin]/count[bin], 0.04, "range %d", bin)
	}
	low, high := intervals.Interval(-50)
	wideLow, wideHigh := intervals.Interval(150)
	require.Greater(t, wideHigh-wideLow, 3*(high-low))
}

func TestConformalTakesTheFiniteSampleQuantile(t *testing.T) {
	predicted, actual := make([]float64, 9), make([]float64, 9)
	for i := range actual {
		actual[i] = float64(i + 1) // differences 1 to 9
	}
	intervals, err := learn.FitConformal(predicted, actual, learn.ConformalOptions{})
	require.NoError(t, err)
	low, high := intervals.Interval(100)
	require.InDelta(t, 91, low, 1e-12) // the 9th of 9
	require.InDelta(t, 109, high, 1e-12)

	_, err = learn.FitConformal(predicted[:8], actual[:8], learn.ConformalOptions{})
	require.ErrorIs(t, err, learn.ErrData)
	require.ErrorContains(t, err, "8 rows; a coverage of 0.9 takes at least 9")

	intervals, err = learn.FitConformal(predicted, actual, learn.ConformalOptions{Coverage: 0.5})
	require.NoError(t, err)
	_, high = intervals.Interval(0)
	require.InDelta(t, 5, high, 1e-12)
}

func TestConformalJoinsSmallRanges(t *testing.T) {
	var predicted, actual []float64
	for i := range 100 { // 95 rows below 20, 5 at 100
		p := float64(i % 19)
		if i >= 95 {
			p = 100
		}
		predicted, actual = append(predicted, p), append(actual, p+1)
	}
	intervals, err := learn.FitConformal(predicted, actual, learn.ConformalOptions{})
	require.NoError(t, err)
	low, high := intervals.Interval(100)
	require.InDelta(t, 2, high-low, 1e-12)
}

func TestConformalRefusesUnusableData(t *testing.T) {
	for _, o := range []learn.ConformalOptions{{Coverage: 1}, {Coverage: -1}, {Coverage: math.NaN()}, {Bins: -1}, {MinCount: -1}} {
		_, err := learn.FitConformal(make([]float64, 50), make([]float64, 50), o)
		require.ErrorIs(t, err, learn.ErrData)
	}
	_, err := learn.FitConformal([]float64{math.NaN()}, []float64{1}, learn.ConformalOptions{})
	require.ErrorContains(t, err, "predicted[0] is NaN")
	_, err = learn.FitConformal(nil, nil, learn.ConformalOptions{})
	require.ErrorIs(t, err, learn.ErrData)
}
