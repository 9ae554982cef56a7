package learn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// machines draws rows of a temperature, a vibration that is often missing, a constant and noise, the wear that follows from them, and
// whether the machine failed.
func machines(rows int, seed uint64) (x *mat.Dense, wear []float64, failed []bool) {
	random := rand.New(rand.NewPCG(seed, 1))
	x, wear, failed = mat.NewDense(rows, 5, nil), make([]float64, rows), make([]bool, rows)
	for i := range rows {
		temperature, vibration := 20+80*random.Float64(), 10*random.Float64()
		wear[i] = 0.5*temperature + 3*vibration + random.NormFloat64()
		failed[i] = wear[i]+5*random.NormFloat64() > 65
		if random.Float64() < 0.3 {
			vibration = math.NaN()
		}
		x.SetRow(i, []float64{temperature, vibration, 7, random.NormFloat64(), math.NaN()})
	}
	return x, wear, failed
}

func TestBoostLearnsAFunctionWithMissingValues(t *testing.T) {
	x, wear, failed := machines(6000, 1)
	test, testWear, testFailed := machines(2000, 2)
	regression, err := learn.FitRegression(context.Background(), x, wear, learn.BoostOptions{})
	require.NoError(t, err)
	classifier, err := learn.FitClassifier(context.Background(), x, failed, learn.BoostOptions{})
	require.NoError(t, err)
	predicted, probabilities := make([]float64, 2000), make([]float64, 2000)
	for i := range predicted {
		predicted[i], probabilities[i] = regression.Predict(test.RawRowView(i)), classifier.Predict(test.RawRowView(i))
	}
	rmse, err := learn.RMSE(predicted, testWear)
	require.NoError(t, err)
	require.Less(t, rmse, 5.4) // unknown vibration alone: sqrt(0.3 * 75 + 1) = 4.8
	area, err := learn.ROCAUC(probabilities, testFailed, nil)
	require.NoError(t, err)
	known := make([]float64, 2000) // the expected wear
	for i := range known {
		known[i] = 0.5*test.At(i, 0) + 3*5
		if v := test.At(i, 1); !math.IsNaN(v) {
			known[i] += 3 * (v - 5)
		}
	}
	possible, err := learn.ROCAUC(known, testFailed, nil)
	require.NoError(t, err)
	require.Greater(t, area, possible-0.01)
	off, err := learn.CalibrationError(probabilities, testFailed, nil)
	require.NoError(t, err)
	require.Less(t, off, 0.03)

	shares := regression.Importance()
	require.Len(t, shares, 5)
	require.Greater(t, shares[0], 0.5)
	require.Greater(t, shares[1], 0.05)
	require.Zero(t, shares[2]+shares[4], "columns without different values")
	require.False(t, regression.Classifier())
	require.True(t, classifier.Classifier())
	require.Equal(t, 5, classifier.Columns())
	require.Equal(t, 200, classifier.Trees())
}

// Whether a value is missing may be all that there is to learn.
func TestBoostLearnsFromMissingness(t *testing.T) {
	x, y := mat.NewDense(100, 1, nil), make([]float64, 100)
	for i := range y {
		x.Set(i, 0, 5)
		if i%3 == 0 {
			x.Set(i, 0, math.NaN())
			y[i] = 10
		}
	}
	model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{})
	require.NoError(t, err)
	require.InDelta(t, 10, model.Predict([]float64{math.NaN()}), 0.1)
	require.InDelta(t, 0, model.Predict([]float64{5}), 0.1)
}

func TestBoostTakesInfiniteValuesAsExtremes(t *testing.T) {
	x, y := mat.NewDense(120, 1, nil), make([]float64, 120)
	for i := range y {
		x.Set(i, 0, []float64{math.Inf(-1), 1, math.Inf(1)}[i%3])
		y[i] = float64(i % 3)
	}
	model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{})
	require.NoError(t, err)
	for want, v := range []float64{math.Inf(-1), 1, math.Inf(1)} {
		require.InDelta(t, want, model.Predict([]float64{v}), 0.05)
	}
}

func TestBoostIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	x, wear, failed := machines(6000, 3)
	marshal := func(workers int) [2]string {
		options := learn.BoostOptions{Trees: 40, Seed: 5, Workers: workers}
		regression, err := learn.FitRegression(context.Background(), x, wear, options)
		require.NoError(t, err)
		classifier, err := learn.FitClassifier(context.Background(), x, failed, options)
		require.NoError(t, err)
		a, err := regression.MarshalBinary()
		require.NoError(t, err)
		b, err := classifier.MarshalBinary()
		require.NoError(t, err)
		return [2]string{string(a), string(b)}
	}
	one := marshal(1)
	before := runtime.GOMAXPROCS(1)
	single := marshal(0)
	runtime.GOMAXPROCS(max(before, 4))
	several := marshal(0)
	runtime.GOMAXPROCS(before)
	require.True(t, one == single && one == several && one == marshal(7), "the bytes differ")
}

func TestBoostContributionsAddUp(t *testing.T) {
	x, wear, failed := machines(2000, 4)
	regression, err := learn.FitRegression(context.Background(), x, wear, learn.BoostOptions{})
	require.NoError(t, err)
	classifier, err := learn.FitClassifier(context.Background(), x, failed, learn.BoostOptions{})
	require.NoError(t, err)
	for _, model := range []*learn.Boost{regression, classifier} {
		dst := []float64{9, 9, 9, 9, 9}
		for i := range 100 {
			sum := model.Base()
			for _, v := range model.Contributions(x.RawRowView(i), dst) {
				sum += v
			}
			require.InDelta(t, model.Score(x.RawRowView(i)), sum, 1e-3)
		}
	}
	hot := regression.Contributions([]float64{99, 5, 7, 0, math.NaN()}, nil)
	require.Greater(t, hot[0], 10.0)
	require.Less(t, math.Abs(hot[3]), 3.0)
}

func TestBoostPredictsWithoutAllocating(t *testing.T) {
	x, wear, _ := machines(500, 5)
	model, err := learn.FitRegression(context.Background(), x, wear, learn.BoostOptions{})
	require.NoError(t, err)
	row, dst := x.RawRowView(0), make([]float64, 5)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		model.Predict(row)
		model.Contributions(row, dst)
	}))
	require.True(t, math.IsNaN(model.Predict(row[:4])))
	require.Nil(t, model.Contributions(nil, dst))
}

// Above 200,000 rows, the bins come from a sample of them.
func TestBoostWithManyRows(t *testing.T) {
	const rows = 250000
	x, y := mat.NewDense(rows, 1, nil), make([]float64, rows)
	for i := range y {
		x.Set(i, 0, float64(i%1000))
		y[i] = math.Floor(x.At(i, 0) / 100)
	}
	model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{Trees: 10, LearningRate: 0.8})
	require.NoError(t, err)
	for v := 50.0; v < 1000; v += 100 {
		require.InDelta(t, math.Floor(v/100), model.Predict([]float64{v}), 0.05)
	}
}

func TestBoostWeights(t *testing.T) {
	x, y, weights := mat.NewDense(200, 1, nil), make([]float64, 200), make([]float64, 200)
	for i := range y {
		y[i], weights[i] = float64(i%2), float64(1-i%2) // only the zeros count
	}
	model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{Weights: weights})
	require.NoError(t, err)
	require.InDelta(t, 0, model.Predict([]float64{0}), 1e-9)
}

func TestBoostOverWeightKeepsPredictionsLow(t *testing.T) {
	x, wear, _ := machines(3000, 6)
	test, testWear, _ := machines(1000, 7)
	late := func(weight float64) (n int) {
		model, err := learn.FitRegression(context.Background(), x, wear, learn.BoostOptions{OverWeight: weight})
		require.NoError(t, err)
		for i, actual := range testWear {
			if model.Predict(test.RawRowView(i)) > actual {
				n++
			}
		}
		return n
	}
	require.Less(t, late(4), late(1)-100)
}

func TestBoostRefusesUnusableData(t *testing.T) {
	x, wear, failed := machines(100, 8)
	nan := append([]float64(nil), wear...)
	nan[7] = math.NaN()
	large := append([]float64(nil), wear...)
	large[3] = -1e300
	zero := make([]float64, 100)
	for name, c := range map[string]struct {
		x       learn.Matrix
		y       []float64
		options learn.BoostOptions
		text    string
	}{
		"nil":             {nil, wear, learn.BoostOptions{}, "nil"},
		"empty":           {&mat.Dense{}, nil, learn.BoostOptions{}, "0 rows"},
		"lengths":         {x, wear[:99], learn.BoostOptions{}, "99 labels and 100 rows"},
		"NaN label":       {x, nan, learn.BoostOptions{}, "y[7] is NaN"},
		"large label":     {x, large, learn.BoostOptions{}, "y[3] is -1e+300"},
		"few rows":        {x, wear, learn.BoostOptions{MinLeaf: 51}, "at least 102 are needed"},
		"negative trees":  {x, wear, learn.BoostOptions{Trees: -1}, "BoostOptions.Trees is -1"},
		"NaN rate":        {x, wear, learn.BoostOptions{LearningRate: math.NaN()}, "BoostOptions.LearningRate is NaN"},
		"bins":            {x, wear, learn.BoostOptions{Bins: 256}, "BoostOptions.Bins is 256"},
		"weights":         {x, wear, learn.BoostOptions{Weights: nan}, "Weights[7] is NaN"},
		"no weight":       {x, wear, learn.BoostOptions{Weights: zero}, "add up to 0"},
		"few weights":     {x, wear, learn.BoostOptions{Weights: zero[:1]}, "1 weights and 100 rows"},
		"negative weight": {x, wear, learn.BoostOptions{Weights: append([]float64{-1}, zero[1:]...)}, "Weights[0] is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := learn.FitRegression(context.Background(), c.x, c.y, c.options)
			require.ErrorIs(t, err, learn.ErrData)
			require.ErrorContains(t, err, c.text)
		})
	}
	_, err := learn.FitClassifier(context.Background(), x, make([]bool, 100), learn.BoostOptions{})
	require.ErrorIs(t, err, learn.ErrData)
	require.ErrorContains(t, err, "both are needed")
	extreme := make([]float64, 100)
	for i, yes := range failed {
		if extreme[i] = 1e300; yes {
			extreme[i] = 1e-300
		}
	}
	_, err = learn.FitClassifier(context.Background(), x, failed, learn.BoostOptions{Weights: extreme})
	require.ErrorIs(t, err, learn.ErrData)
	require.ErrorContains(t, err, "differ too much")
	_, err = learn.FitClassifier(context.Background(), x, failed[:1], learn.BoostOptions{})
	require.ErrorIs(t, err, learn.ErrData)
}

// Values that are extreme or all equal give a model of finite predictions.
func TestBoostStaysFinite(t *testing.T) {
	for name, value := range map[string]func(i int) float64{
		"equal":   func(int) float64 { return 3 },
		"large":   func(i int) float64 { return 1e300 * float64(i%7) },
		"outlier": func(i int) float64 { return math.Pow(10, float64(i)) },
		"tiny":    func(i int) float64 { return 1e-300 * float64(i%7) },
	} {
		t.Run(name, func(t *testing.T) {
			x, y := mat.NewDense(100, 1, nil), make([]float64, 100)
			for i := range y {
				x.Set(i, 0, value(i))
				y[i] = math.Mod(value(i), 1e30)
			}
			model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{})
			require.NoError(t, err)
			for _, v := range []float64{math.Inf(-1), -1, 0, 1e300, math.Inf(1), math.NaN()} {
				p := model.Predict([]float64{v})
				require.False(t, math.IsNaN(p) || math.IsInf(p, 0), "%v at %v", p, v)
			}
		})
	}
}

func TestBoostEndsWithItsContext(t *testing.T) {
	x, wear, _ := machines(1000, 9)
	ctx, cancel := context.WithCancel(context.Background())
	trees := 0
	_, err := learn.FitRegression(ctx, x, wear, learn.BoostOptions{Progress: func(done, total int) {
		trees = done
		require.Equal(t, 200, total)
		if done == 3 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, trees)
}
