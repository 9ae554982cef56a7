package learn_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// plant returns rows of six sensors that follow two hidden loads: columns 0 to 2 the first, 3 and 4 the second, and 5 both.
func plant(seed uint64, rows int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 7))
	x := mat.NewDense(rows, 6, nil)
	a, b := 0.0, 0.0
	for i := range rows {
		a = 0.9*a + 0.4*random.NormFloat64()
		b = 0.8*b + 0.6*random.NormFloat64()
		for j, v := range []float64{20 + 3*a, 1000 - 50*a, a, 5 + b, -2 * b, a + b} {
			x.Set(i, j, v+[]float64{0.3, 5, 0.1, 0.1, 0.2, 0.15}[j]*random.NormFloat64())
		}
	}
	return x
}

func fitPCA(tb testing.TB, x learn.Matrix, options learn.PCAOptions) *learn.PCA {
	tb.Helper()
	p, err := learn.FitPCA(context.Background(), x, options)
	require.NoError(tb, err)
	return p
}

func TestMonitorFindsBrokenRelations(t *testing.T) {
	for seed := range uint64(3) {
		p := fitPCA(t, plant(seed, 1000), learn.PCAOptions{})
		for faulty := range 6 {
			m := p.Monitor()
			x := plant(seed+100, 2000)
			var missed, falseAlarms, blamed int
			for i := range 2000 {
				row := x.RawRowView(i)
				if i >= 1000 {
					row[faulty] = x.At(i-1000, faulty) // normal for itself, not beside the others
				}
				s, err := m.Update(row)
				require.NoError(t, err)
				if i < 1000 && s.Anomalous {
					falseAlarms++
				}
				if i >= 1020 && !s.Anomalous {
					missed++
				}
				shares := m.Contributions(nil)
				require.GreaterOrEqual(t, floats.Min(shares), 0.0)
				require.InDelta(t, s.Index, floats.Sum(shares), 1e-9*(1+s.Index))
				if s.Anomalous && floats.MaxIdx(shares) == faulty {
					blamed++
				}
			}
			require.LessOrEqual(t, falseAlarms, 10, "seed %d, column %d", seed, faulty)
			require.LessOrEqual(t, missed, 700, "seed %d, column %d", seed, faulty)
			require.Greater(t, blamed, (980-missed)/2, "seed %d, column %d", seed, faulty)
		}
	}
}

func TestMonitorHoldsMissingValuesAndSkipsConstantColumns(t *testing.T) {
	x := mat.NewDense(500, 8, nil)
	x.Slice(0, 500, 0, 6).(*mat.Dense).Copy(plant(1, 500))
	random := rand.New(rand.NewPCG(3, 3))
	for i := range 500 {
		x.Set(i, 6, 20.1)
		x.Set(i, 7, math.NaN())
		if random.IntN(10) == 0 {
			x.Set(i, random.IntN(6), []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[random.IntN(3)])
		}
	}
	p := fitPCA(t, x, learn.PCAOptions{})
	require.Equal(t, []int{6, 7}, p.Constant())
	require.Equal(t, 8, p.Columns())
	m := p.Monitor()
	missing := []float64{math.NaN(), math.Inf(1), math.NaN(), math.NaN(), math.Inf(-1), math.NaN(), math.NaN(), math.NaN()}
	first, err := m.Update(missing)
	require.NoError(t, err)
	require.Zero(t, first.Index)
	before, err := m.Update(x.RawRowView(17))
	require.NoError(t, err)
	after, err := m.Update(missing)
	require.NoError(t, err)
	require.Equal(t, before, after)
	// What has no scale is not judged, and huge values stay finite.
	after, err = m.Update([]float64{1e308, 1000, -1e308, 5, 0, 0, 1e300, -1e300})
	require.NoError(t, err)
	require.True(t, after.Anomalous)
	require.False(t, math.IsInf(after.Index, 0))
	require.Zero(t, m.Contributions(nil)[6])
}

func TestRestoredMonitorContinuesExactly(t *testing.T) {
	data, err := fitPCA(t, plant(1, 400), learn.PCAOptions{}).MarshalBinary()
	require.NoError(t, err)
	var p learn.PCA
	require.NoError(t, p.UnmarshalBinary(data))
	again, err := p.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, data, again)

	original, x := fitPCA(t, plant(1, 400), learn.PCAOptions{}).Monitor(), plant(2, 300)
	for i := range 100 {
		_, err = original.Update(x.RawRowView(i))
		require.NoError(t, err)
	}
	restored, err := p.RestoreMonitor(original.Snapshot())
	require.NoError(t, err)
	require.Equal(t, original.Contributions(nil), restored.Contributions(nil))
	for i := 100; i < 300; i++ {
		want, err := original.Update(x.RawRowView(i))
		require.NoError(t, err)
		got, err := restored.Update(x.RawRowView(i))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, original.Contributions(nil), restored.Contributions(nil))
	}
	_, err = fitPCA(t, plant(2, 400), learn.PCAOptions{}).RestoreMonitor(original.Snapshot())
	require.ErrorIs(t, err, learn.ErrModel, "the snapshot of another model")
}

func TestFitPCAErrors(t *testing.T) {
	good := plant(1, 100)
	constant := mat.NewDense(100, 2, nil)
	constant.SetCol(0, good.RawMatrix().Data[:100])
	for _, c := range []struct {
		x       learn.Matrix
		options learn.PCAOptions
		text    string
	}{
		{nil, learn.PCAOptions{}, "nil"},
		{good.Slice(0, 49, 0, 6), learn.PCAOptions{}, "49 rows; 6 columns need 50"},
		{constant, learn.PCAOptions{}, "1 of 2 columns vary"},
		{good, learn.PCAOptions{Smoothing: -1}, "PCAOptions.Smoothing is -1"},
		{good, learn.PCAOptions{Smoothing: math.NaN()}, "PCAOptions.Smoothing is NaN"},
		{good, learn.PCAOptions{Variance: 1}, "PCAOptions.Variance is 1"},
		{good, learn.PCAOptions{Quantile: 0.5}, "PCAOptions.Quantile is 0.5"},
	} {
		_, err := learn.FitPCA(context.Background(), c.x, c.options)
		require.ErrorIs(t, err, learn.ErrData, c.text)
		require.ErrorContains(t, err, c.text)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := learn.FitPCA(canceled, good, learn.PCAOptions{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = fitPCA(t, good, learn.PCAOptions{}).Monitor().Update(make([]float64, 5))
	require.ErrorIs(t, err, learn.ErrData)
}

func TestModelsThatAreNotFitted(t *testing.T) {
	_, err := new(learn.PCA).Monitor().Update(nil)
	require.ErrorIs(t, err, learn.ErrData)
	require.Zero(t, new(learn.Season).At(at(1)))
}

func TestMonitorOfColumnsThatAreTheSame(t *testing.T) {
	x := plant(1, 200)
	for i := range 200 {
		x.SetRow(i, []float64{x.At(i, 0), 2 * x.At(i, 0), -x.At(i, 0), 0, 0, 0})
	}
	m := fitPCA(t, x, learn.PCAOptions{}).Monitor()
	for i := range 200 {
		s, err := m.Update(x.RawRowView(i))
		require.NoError(t, err)
		require.False(t, s.Anomalous, "row %d: %+v", i, s)
	}
	var s learn.MonitorScore
	for range 3 {
		s, _ = m.Update([]float64{20, 41, -20, 0, 0, 0})
	}
	require.True(t, s.Anomalous)
}

func TestMonitorUpdateDoesNotAllocate(t *testing.T) {
	m, x, dst := fitPCA(t, plant(1, 200), learn.PCAOptions{}).Monitor(), plant(2, 100), make([]float64, 6)
	i := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = m.Update(x.RawRowView(i % 100))
		m.Contributions(dst)
		i++
	}))
}

func BenchmarkMonitor(b *testing.B) {
	for _, cols := range []int{8, 64} {
		random := rand.New(rand.NewPCG(1, 1))
		x := mat.NewDense(1000, cols, nil)
		for i := range 1000 {
			load := random.NormFloat64()
			for j := range cols {
				x.Set(i, j, load*float64(j%5)+random.NormFloat64())
			}
		}
		m := fitPCA(b, x, learn.PCAOptions{}).Monitor()
		b.Run(fmt.Sprintf("%d columns", cols), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, _ = m.Update(x.RawRowView(i % 1000))
			}
		})
	}
}

// A valve sticks: each sensor stays within its usual range, but the flow no longer follows the pressure.
func ExampleMonitor() {
	random := rand.New(rand.NewPCG(1, 1))
	row := func(stuck bool) []float64 { // speed in 1/min, pressure in bar, flow in l/min
		load := random.NormFloat64()
		flow := 30 + 2*load
		if stuck {
			flow = 28
		}
		return []float64{1500 + 100*load + 10*random.NormFloat64(), 4 + 0.5*load + 0.05*random.NormFloat64(), flow + 0.1*random.NormFloat64()}
	}
	x := mat.NewDense(500, 3, nil)
	for i := range 500 {
		x.SetRow(i, row(false))
	}
	p, err := learn.FitPCA(context.Background(), x, learn.PCAOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := p.Monitor()
	for i := range 200 {
		s, err := m.Update(row(i >= 100))
		if err != nil {
			fmt.Println(err)
			return
		}
		if s.Anomalous {
			fmt.Printf("row %d, column %d\n", i, floats.MaxIdx(m.Contributions(nil)))
			break
		}
	}
	// Output:
	// row 102, column 2
}
