package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMomentsAreThoseOfTheFormulas(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var whole, left, right Moments
	var ts, xs []float64
	for i := range 500 {
		at := 1e5 + 40*random.Float64()
		x := 1e7 + 0.3*at + random.NormFloat64()
		ts, xs = append(ts, at), append(xs, x)
		whole.Add(at, x)
		if i%3 == 0 {
			left.Add(at, x)
		} else {
			right.Add(at, x)
		}
	}
	left.Merge(right)
	left.Merge(Moments{})

	var mt, mx, tt, tx, xx float64
	for i := range ts {
		mt += ts[i] / 500
		mx += xs[i] / 500
	}
	for i := range ts {
		tt += (ts[i] - mt) * (ts[i] - mt)
		tx += (ts[i] - mt) * (xs[i] - mx)
		xx += (xs[i] - mx) * (xs[i] - mx)
	}
	for _, m := range []Moments{whole, left} {
		require.Equal(t, 500, m.Count())
		require.InEpsilon(t, mx, m.Mean(), 1e-12)
		require.InEpsilon(t, math.Sqrt(xx/499), m.StdDev(), 1e-6)
		require.InEpsilon(t, tx/tt, m.Trend(), 1e-6)
	}
}

func TestMomentsOfTooFewSamplesAreMissing(t *testing.T) {
	var m Moments
	require.True(t, math.IsNaN(m.Mean()))
	m.Add(1, 5)
	require.InDelta(t, 5, m.Mean(), 0)
	require.True(t, math.IsNaN(m.StdDev()))
	m.Add(1, 7)
	require.InDelta(t, math.Sqrt2, m.StdDev(), 1e-15)
	require.True(t, math.IsNaN(m.Trend()), "two samples at one time have no slope")
}
