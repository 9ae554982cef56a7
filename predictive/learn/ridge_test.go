package learn_test

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

func TestRidgeFindsALine(t *testing.T) {
	x, y := mat.NewDense(50, 3, nil), make([]float64, 50)
	for i := range y {
		x.SetRow(i, []float64{float64(i), float64(i * i % 17), 4}) // the last is constant
		y[i] = 100 + 2*x.At(i, 0) - 3*x.At(i, 1)
	}
	line, err := learn.FitRidge(context.Background(), x, y, learn.RidgeOptions{})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{2, -3, 0}, line.Slopes(), 1e-3)
	require.InDelta(t, 100+2*60-3*5, line.Predict([]float64{60, 5, 1000}), 0.1)
	sum := line.Base()
	for _, v := range line.Contributions([]float64{60, math.NaN(), 4}, nil) {
		sum += v
	}
	require.InDelta(t, line.Predict([]float64{60, math.NaN(), 4}), sum, 1e-9)
	require.True(t, math.IsNaN(line.Predict(nil)))
	require.Nil(t, line.Contributions([]float64{1}, nil))
}

// More columns than rows are the case that the penalty is for.
func TestRidgeWithFewRows(t *testing.T) {
	x, y := mat.NewDense(5, 20, nil), make([]float64, 5)
	for i := range y {
		for j := range 20 {
			x.Set(i, j, math.Sin(float64(3*i+7*j)))
		}
		x.Set(i, 3, math.NaN())
		y[i] = float64(i)
	}
	line, err := learn.FitRidge(context.Background(), x, y, learn.RidgeOptions{})
	require.NoError(t, err)
	require.Positive(t, line.Penalty())
	p := line.Predict(x.RawRowView(2))
	require.True(t, p > -1 && p < 5, "%v", p)
}

func TestRidgeRefusesUnusableData(t *testing.T) {
	fit := func(x learn.Matrix, y []float64, o learn.RidgeOptions) error {
		_, err := learn.FitRidge(context.Background(), x, y, o)
		require.ErrorIs(t, err, learn.ErrData)
		return err
	}
	x := mat.NewDense(3, 1, []float64{1, 2, math.Inf(1)})
	require.ErrorContains(t, fit(nil, nil, learn.RidgeOptions{}), "nil")
	require.ErrorContains(t, fit(x, make([]float64, 3), learn.RidgeOptions{}), "+Inf in row 2, column 0")
	require.ErrorContains(t, fit(x, make([]float64, 2), learn.RidgeOptions{}), "2 labels and 3 rows")
	require.ErrorContains(t, fit(x.Slice(0, 1, 0, 1), make([]float64, 1), learn.RidgeOptions{}), "at least 2")
	require.ErrorContains(t, fit(x, make([]float64, 3), learn.RidgeOptions{Penalty: -1}), "Penalty is -1")
	require.ErrorContains(t, fit(mat.NewDense(2, 1, []float64{1e300, -1e300}), make([]float64, 2), learn.RidgeOptions{}), "too large")
	require.ErrorContains(t, fit(x.Slice(0, 2, 0, 1), []float64{1e300, -1e300}, learn.RidgeOptions{}), "too large")
}

func TestRidgeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := learn.FitRidge(ctx, mat.NewDense(3, 1, []float64{1, 2, 3}), make([]float64, 3), learn.RidgeOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestRidgeIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	x, y := lives(500, 80)
	var before []byte
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 4} {
		runtime.GOMAXPROCS(n)
		line, err := learn.FitRidge(context.Background(), x, y, learn.RidgeOptions{})
		require.NoError(t, err)
		data, err := line.MarshalBinary()
		require.NoError(t, err)
		if before != nil {
			require.True(t, bytes.Equal(before, data), "the bytes differ")
		}
		before = data
	}
}
