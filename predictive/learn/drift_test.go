package learn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

func compare(t *testing.T, before, after []float64) learn.Drift {
	t.Helper()
	h, err := learn.NewHistogram(before, 0)
	require.NoError(t, err)
	d, err := h.Compare(after)
	require.NoError(t, err)
	return d
}

func TestDriftGrowsWithTheShift(t *testing.T) {
	before := noise(1, 5000)
	last := learn.Drift{}
	for _, shift := range []float64{0, 0.2, 0.5, 1, 2, 5, 100} {
		after := noise(2, 1000)
		for i := range after {
			after[i] += shift
		}
		d := compare(t, before, after)
		if shift == 0 {
			require.Less(t, d.PSI, 0.05)
			require.Less(t, d.KS, 0.05)
		} else {
			require.Greater(t, d.PSI, last.PSI, "shift %v", shift)
			require.GreaterOrEqual(t, d.KS, last.KS, "shift %v", shift)
		}
		last = d
	}
	require.Greater(t, last.PSI, 5.0)
	require.InDelta(t, 0.9, last.KS, 0.01) // the last bin begins at 0.9
}

func TestDriftOfConstantAndDiscreteFeatures(t *testing.T) {
	same := func(v float64, n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = v
		}
		return list
	}
	for _, v := range []float64{0, 7.5, math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		require.Less(t, compare(t, same(v, 100), same(v, 50)).PSI, 0.1, v)
	}
	require.InDelta(t, 1, compare(t, same(7, 100), same(6.999, 50)).KS, 0)
	require.InDelta(t, 1, compare(t, same(7, 100), same(7.001, 50)).KS, 0)
	require.Greater(t, compare(t, same(7, 100), same(7.001, 50)).PSI, 1.0)
	mixed := append(same(0, 50), same(1, 50)...)
	require.InDelta(t, 0.3, compare(t, mixed, append(same(0, 80), same(1, 20)...)).KS, 1e-12)
}

func TestDriftOfMissingValues(t *testing.T) {
	after := noise(2, 1000)
	for i := range 400 {
		after[i] = math.NaN()
	}
	d := compare(t, noise(1, 1000), after)
	require.InDelta(t, 0.4, d.Missing, 1e-12)
	require.Greater(t, d.PSI, 1.0)
	require.Less(t, d.KS, 0.1)
	d = compare(t, noise(1, 1000), []float64{math.NaN()})
	require.InDelta(t, 1, d.Missing, 0)
	require.Zero(t, d.KS)
}

func TestHistogramErrors(t *testing.T) {
	for _, values := range [][]float64{nil, {math.NaN()}} {
		_, err := learn.NewHistogram(values, 0)
		require.ErrorIs(t, err, learn.ErrData)
	}
	for _, bins := range []int{-1, 1, 1001} {
		_, err := learn.NewHistogram([]float64{1, 2}, bins)
		require.ErrorIs(t, err, learn.ErrData)
	}
	_, err := new(learn.Histogram).Compare([]float64{1})
	require.ErrorIs(t, err, learn.ErrData)
	h, err := learn.NewHistogram([]float64{1, 2}, 0)
	require.NoError(t, err)
	_, err = h.Compare(nil)
	require.ErrorIs(t, err, learn.ErrData)
}

func TestReadHistogramIsTheSame(t *testing.T) {
	h, err := learn.NewHistogram(append(noise(1, 500), math.Inf(1), math.Inf(-1), math.NaN()), 0)
	require.NoError(t, err)
	data, err := h.MarshalBinary()
	require.NoError(t, err)
	var read learn.Histogram
	require.NoError(t, read.UnmarshalBinary(data))
	want, err := h.Compare(noise(2, 100))
	require.NoError(t, err)
	got, err := read.Compare(noise(2, 100))
	require.NoError(t, err)
	require.Equal(t, want, got)
	data[9] ^= 1
	require.ErrorIs(t, read.UnmarshalBinary(data), learn.ErrModel)
}
