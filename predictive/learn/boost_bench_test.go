package learn_test

import (
	"context"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// lives draws as many rows and columns as the features of C-MAPSS FD001 have.
func lives(rows, cols int) (x *mat.Dense, y []float64) {
	random := rand.New(rand.NewPCG(1, 1))
	x, y = mat.NewDense(rows, cols, nil), make([]float64, rows)
	for i := range rows {
		for j := range cols {
			x.Set(i, j, random.NormFloat64())
		}
		y[i] = 60 + 20*x.At(i, 0) + 10*x.At(i, 1)*x.At(i, 2) + 5*random.NormFloat64()
	}
	return x, y
}

// Training takes less than 4 bytes per cell beside the matrix. BenchmarkFit measures all trees, of which each adds 0.004 here.
func TestBoostNeedsLittleMemory(t *testing.T) {
	const rows, cols, trees = 20000, 106, 4
	x, y := lives(rows, cols)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{Trees: trees, Workers: 2})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	perCell := float64(after.TotalAlloc-before.TotalAlloc) / rows / cols
	t.Logf("%.2f bytes per cell", perCell)
	require.Less(t, perCell, 3.4)
	data, err := model.MarshalBinary()
	require.NoError(t, err)
	require.Less(t, 200/trees*len(data), 1<<20)
}

func BenchmarkFit(b *testing.B) {
	const rows, cols = 20000, 106
	x, y := lives(rows, cols)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run("workers="+strconv.Itoa(workers), func(b *testing.B) {
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var model *learn.Boost
			var err error
			for b.Loop() {
				model, err = learn.FitRegression(context.Background(), x, y, learn.BoostOptions{Workers: workers})
				require.NoError(b, err)
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/rows/cols, "B/cell")
			data, err := model.MarshalBinary()
			require.NoError(b, err)
			b.ReportMetric(float64(len(data)), "B/model")
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	x, y := lives(5000, 100)
	model, err := learn.FitRegression(context.Background(), x, y, learn.BoostOptions{})
	require.NoError(b, err)
	ridge, err := learn.FitRidge(context.Background(), x, y, learn.RidgeOptions{})
	require.NoError(b, err)
	row, dst := make([]float64, 100), make([]float64, 100)
	for name, predict := range map[string]func(){
		"boost":         func() { model.Predict(row) },
		"contributions": func() { model.Contributions(row, dst) },
		"ridge":         func() { ridge.Predict(row) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				copy(row, x.RawRowView(i%5000))
				predict()
			}
		})
	}
}

// BenchmarkAI4I prints the figures of the AI4I 2020 data without the columns of failure modes, on rows that training did not see: five
// stratified folds, drawn four times, at the default options. "physical" adds three columns that follow from the others: the
// difference of the temperatures, the power, and torque times wear.
func BenchmarkAI4I(b *testing.B) {
	for name, physical := range map[string]bool{"raw": false, "physical": true} {
		b.Run(name, func(b *testing.B) {
			x, failed := readAI4I(b, physical)
			var pr, roc, f1, off float64
			const draws, folds = 4, 5
			for b.Loop() {
				pr, roc, f1, off = 0, 0, 0, 0
				for seed := range uint64(draws) {
					fold := stratified(failed, folds, seed)
					p := make([]float64, len(failed))
					for k := range folds {
						v, w := foldOut(b, x, failed, fold, k, seed, p)
						pr, roc = pr+v/draws/folds, roc+w/draws/folds
					}
					c, err := learn.ConfusionAt(0.5, p, failed)
					require.NoError(b, err)
					e, err := learn.CalibrationError(p, failed, nil)
					require.NoError(b, err)
					f1, off = f1+c.F1()/draws, off+e/draws
				}
			}
			b.ReportMetric(pr, "PR-AUC")
			b.ReportMetric(roc, "ROC-AUC")
			b.ReportMetric(f1, "F1")
			b.ReportMetric(off, "ECE")
		})
	}
}

// foldOut fits a model to the rows outside a fold, sets p for those in it, and returns the areas of these.
func foldOut(tb testing.TB, x *mat.Dense, failed []bool, fold []int, k int, seed uint64, p []float64) (pr, roc float64) {
	tb.Helper()
	_, cols := x.Dims()
	var cells []float64
	var labels, happened []bool
	for i, f := range fold {
		if f != k {
			cells, labels = append(cells, x.RawRowView(i)...), append(labels, failed[i])
		}
	}
	model, err := learn.FitClassifier(context.Background(), mat.NewDense(len(labels), cols, cells), labels, learn.BoostOptions{Seed: seed})
	require.NoError(tb, err)
	var scores []float64
	for i, f := range fold {
		if f == k {
			p[i] = model.Predict(x.RawRowView(i))
			scores, happened = append(scores, p[i]), append(happened, failed[i])
		}
	}
	pr, err = learn.PRAUC(scores, happened)
	require.NoError(tb, err)
	roc, err = learn.ROCAUC(scores, happened, nil)
	require.NoError(tb, err)
	return pr, roc
}

// stratified returns the fold of each row, so that all folds have as many events.
func stratified(events []bool, folds int, seed uint64) []int {
	random := rand.New(rand.NewPCG(seed, 77))
	of := make([]int, len(events))
	for _, class := range []bool{true, false} {
		var rows []int
		for i, e := range events {
			if e == class {
				rows = append(rows, i)
			}
		}
		random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for k, i := range rows {
			of[i] = k % folds
		}
	}
	return of
}

// readAI4I returns the type, the temperatures in K, the speed in 1/min, the torque in Nm and the wear of the tool in min.
func readAI4I(tb testing.TB, physical bool) (x *mat.Dense, failed []bool) {
	tb.Helper()
	records, err := csv.NewReader(openData(tb, filepath.Join(dataDir(tb, "ai4i"), "ai4i2020_dev.csv.gz"))).ReadAll()
	require.NoError(tb, err)
	var rows [][]float64
	for _, r := range records[1:] {
		row := []float64{map[string]float64{"L": 0, "M": 1, "H": 2}[r[2]]}
		for _, text := range r[3:8] {
			v, err := strconv.ParseFloat(text, 64)
			require.NoError(tb, err)
			row = append(row, v)
		}
		if physical {
			row = append(row, row[2]-row[1], row[4]*row[3]*2*math.Pi/60, row[4]*row[5])
		}
		rows, failed = append(rows, row), append(failed, r[8] == "1")
	}
	x = mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		x.SetRow(i, row)
	}
	return x, failed
}
