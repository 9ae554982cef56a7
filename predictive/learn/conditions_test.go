package learn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// Six flight conditions with noise, as in C-MAPSS FD002.
var flights = [][]float64{{0, 0, 100}, {10, 0.25, 100}, {20, 0.7, 100}, {25, 0.62, 60}, {35, 0.84, 100}, {42, 0.84, 100}}

func flightData(rows int) (settings, x *mat.Dense, of []int) {
	random := rand.New(rand.NewPCG(1, 1))
	settings, x, of = mat.NewDense(rows, 3, nil), mat.NewDense(rows, 2, nil), make([]int, rows)
	for i := range rows {
		of[i] = random.IntN(6)
		for j, v := range flights[of[i]] {
			settings.Set(i, j, v+0.002*random.Float64())
		}
		x.SetRow(i, []float64{100*float64(of[i]) + float64(1+of[i])*random.NormFloat64(), 5})
	}
	return settings, x, of
}

func TestConditionsAreFound(t *testing.T) {
	settings, x, of := flightData(5000)
	found, err := learn.FitConditions(context.Background(), settings, x, learn.ConditionsOptions{})
	require.NoError(t, err)
	require.Equal(t, 6, found.Count())
	number := make(map[int]int) // of each flight condition
	for i, c := range of {
		k := found.Find(settings.RawRowView(i))
		if _, seen := number[c]; !seen {
			number[c] = k
		}
		require.Equal(t, number[c], k)
	}
	require.Len(t, number, 6)
	for c, k := range number {
		means, deviations := found.Scale(k)
		require.InDelta(t, 100*c, means[0], 1)
		require.InEpsilon(t, 1+c, deviations[0], 0.1)
		row := found.Normalise(k, []float64{100*float64(c) + 2*float64(1+c), 9}, nil)
		require.InDelta(t, 2, row[0], 0.3)
		require.Zero(t, row[1], "a column without deviation")
	}
	require.True(t, math.IsNaN(found.Normalise(0, []float64{math.NaN(), 5}, nil)[0]))
	require.Nil(t, found.Normalise(0, []float64{1}, nil))
	require.Zero(t, found.Find(nil))
}

func TestNoiseIsOneCondition(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	draws := map[string]func(i, j int) float64{
		"normal":   func(_, _ int) float64 { return random.NormFloat64() },
		"uniform":  func(_, _ int) float64 { return random.Float64() },
		"constant": func(_, _ int) float64 { return 0.1 },
		"missing":  func(_, _ int) float64 { return math.NaN() },
		"ramp":     func(i, _ int) float64 { return float64(i) },
		"rounded": func(_, j int) float64 { // as in C-MAPSS FD001
			return math.Round(random.NormFloat64()*[]float64{22, 3}[j]) / 1e4
		},
	}
	for name, draw := range draws {
		settings := mat.NewDense(3000, 2, nil)
		for i := range 3000 {
			settings.SetRow(i, []float64{draw(i, 0), draw(i, 1)})
		}
		found, err := learn.FitConditions(context.Background(), settings, settings, learn.ConditionsOptions{})
		require.NoError(t, err)
		require.Equal(t, 1, found.Count(), name)
		require.Zero(t, found.Find([]float64{5, 5}))
	}
}

func TestWithoutSettingsThereIsOneCondition(t *testing.T) {
	x := mat.NewDense(4, 2, []float64{1, 5, 3, 5, 5, math.NaN(), 7, 5})
	found, err := learn.FitConditions(context.Background(), nil, x, learn.ConditionsOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, found.Count())
	means, deviations := found.Scale(found.Find(nil))
	require.Equal(t, []float64{4, 5}, means)
	require.InDeltaSlice(t, []float64{math.Sqrt(20.0 / 3), 0}, deviations, 1e-12)
}

func TestConditionsAreTheSameForTheSameSeed(t *testing.T) {
	settings, x, _ := flightData(3000)
	var before []byte
	for range 3 {
		found, err := learn.FitConditions(context.Background(), settings, x, learn.ConditionsOptions{Seed: 4})
		require.NoError(t, err)
		data, err := found.MarshalBinary()
		require.NoError(t, err)
		if before != nil {
			require.Equal(t, before, data)
		}
		before = data
	}
}

func TestConditionsRefuseUnusableData(t *testing.T) {
	x := mat.NewDense(2, 1, []float64{1, math.Inf(1)})
	fit := func(settings, x learn.Matrix, o learn.ConditionsOptions) error {
		_, err := learn.FitConditions(context.Background(), settings, x, o)
		require.ErrorIs(t, err, learn.ErrData)
		return err
	}
	require.ErrorContains(t, fit(nil, nil, learn.ConditionsOptions{}), "nil")
	require.ErrorContains(t, fit(nil, x, learn.ConditionsOptions{}), "+Inf in row 1, column 0")
	require.ErrorContains(t, fit(x, x, learn.ConditionsOptions{}), "+Inf in row 1, column 0")
	require.ErrorContains(t, fit(mat.NewDense(3, 1, nil), x, learn.ConditionsOptions{}), "3 rows and the matrix 2")
	require.ErrorContains(t, fit(nil, x, learn.ConditionsOptions{Max: 101}), "Max is 101")
}
