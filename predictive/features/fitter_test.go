package features

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

func TestConstantSignalsAreDropped(t *testing.T) {
	f, err := NewFitter([]Signal{{Name: "constant"}, {Name: "p"}, {Name: "silent"}}, Options{})
	require.NoError(t, err)
	for i := range 50 {
		f.Add(0, hour(float64(i)), 0.1+0.2)
		f.Add(1, hour(float64(i)), float64(i%3))
	}
	x, err := f.Fit(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"constant", "silent"}, x.Dropped())
	require.Len(t, x.Names(), 8)
	l := x.Begin(day)
	l.Add(0, hour(1), 3)
	l.Add(1, hour(1), 4)
	require.InDelta(t, 4, rowAt(t, l, hour(1))["p.mean"], 0)
}

func TestTooLittleDataSaysHowMuch(t *testing.T) {
	f, err := NewFitter([]Signal{{Name: "p"}}, Options{})
	require.NoError(t, err)
	_, err = f.Fit(t.Context())
	require.ErrorIs(t, err, learn.ErrData)
	require.ErrorContains(t, err, "0 rows")
	for i := range 50 {
		f.Add(0, hour(float64(i)), 7)
		f.Add(0, hour(float64(i)), math.NaN())
		f.Add(0, hour(float64(i)-3), 9)
		f.Add(4, hour(float64(i)), 9)
	}
	_, err = f.Fit(t.Context())
	require.ErrorIs(t, err, learn.ErrData)
	require.ErrorContains(t, err, "no signal changes in 50 rows")
}

// A value under one load is a value under another one, once the conditions are known.
func TestOperatingConditionsAreTakenOut(t *testing.T) {
	signals := []Signal{{Name: "load", Setting: true}, {Name: "p"}}
	loads := []float64{10, 40, 70}
	value := func(random *rand.Rand, load, shift float64) float64 {
		return 1000*load + (shift+random.NormFloat64())*load/10
	}
	random := rand.New(rand.NewPCG(1, 1))
	f, err := NewFitter(signals, Options{})
	require.NoError(t, err)
	for i := range 600 {
		load := loads[random.IntN(3)]
		f.Add(0, hour(float64(i)), load+0.01*random.NormFloat64())
		f.Add(1, hour(float64(i)), value(random, load, 0))
	}
	x, err := f.Fit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, x.Conditions())

	shifts := map[float64]map[string]float64{}
	for _, shift := range []float64{0, 5} {
		l := x.Begin(day)
		require.False(t, l.Add(1, hour(0), 5), "the condition is not known")
		require.Equal(t, Stats{Unplaced: 1}, l.Stats())
		for i := 1; i <= 100; i++ {
			load := loads[random.IntN(3)]
			l.Add(0, hour(float64(i)), load)
			l.Add(1, hour(float64(i)).Add(time.Minute), value(random, load, shift))
		}
		shifts[shift] = rowAt(t, l, hour(101))
	}
	deviation := (1. + 4 + 7) / 3
	require.InDelta(t, deviation, shifts[0]["p.stdDev"], deviation/2, "the deviation of the average condition")
	require.InDelta(t, 5*deviation, shifts[5]["p.mean"]-shifts[0]["p.mean"], deviation)
}

// The fitter keeps a bounded number of rows, from everywhere.
func TestFitterKeepsABoundedSample(t *testing.T) {
	f, err := NewFitter([]Signal{{Name: "p"}}, Options{FitRows: 100})
	require.NoError(t, err)
	for i := range 100_000 {
		f.Add(0, hour(float64(i)), float64(i))
	}
	x, err := f.Fit(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, cap(f.rows), 200)
	means, deviations := x.levels.conditions.Scale(0)
	require.InDelta(t, 50_000, means[0], 10_000)
	require.InDelta(t, 100_000/math.Sqrt(12), deviations[0], 10_000)
}

func TestStoredExtractorComputesTheSame(t *testing.T) {
	x := conditioned(t)
	data, err := x.MarshalBinary()
	require.NoError(t, err)
	var read Extractor
	require.NoError(t, read.UnmarshalBinary(data))
	require.Equal(t, x, &read)

	for _, damaged := range []string{"", "{}", `{"format":2}`, string(data[:len(data)-9])} {
		require.ErrorIs(t, read.UnmarshalBinary([]byte(damaged)), learn.ErrModel, damaged)
	}
	require.Equal(t, x, &read, "a damaged one changes nothing")
}

// conditioned returns an extractor with three operating conditions and a constant signal.
func conditioned(t testing.TB) *Extractor {
	t.Helper()
	f, err := NewFitter([]Signal{{Name: "load", Setting: true}, {Name: "constant"}, {Name: "p"}}, Options{})
	require.NoError(t, err)
	for i := range 300 {
		f.Add(0, hour(float64(i)), float64(i%3))
		f.Add(1, hour(float64(i)), 1)
		f.Add(2, hour(float64(i)), float64(i%3*100+i%7))
	}
	x, err := f.Fit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, x.Conditions())
	return x
}

// What is read computes without a panic.
func FuzzUnmarshalBinary(f *testing.F) {
	data, err := conditioned(f).MarshalBinary()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"format":1,"options":{"window":10000},"signals":[{"name":"a"}],"columns":[0]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var x Extractor
		if x.UnmarshalBinary(data) != nil {
			return
		}
		l := x.Begin(day)
		for i := range x.Signals() {
			l.Add(i, hour(1), 2)
		}
		require.NoError(t, l.Row(hour(2), make([]float64, len(x.Names()))))
	})
}
