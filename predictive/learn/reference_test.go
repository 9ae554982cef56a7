package learn_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/otkit/otkit/predictive/learn"
)

// supervised has values of other libraries; internal/tools/reference/supervised.py writes them.
type supervised struct {
	Classified struct {
		Scores, Observed, Predicted, At, Isotonic, Platt      []float64
		Events                                                []bool
		Confusion                                             [4]int // tn, fp, fn, tp
		ROCAUC, PRAUC, Accuracy, Precision, Recall, F1, Brier float64
	}
	Line struct {
		X              [][]float64
		Y, Given, Best []float64
		BestPenalty    float64
	}
	Trees struct {
		X                       [][]*float64 // null is missing
		Y                       []float64
		Events                  []bool
		Regression, Probability []float64
	}
	Friedman struct {
		Rows                      int
		LightgbmRMSE, SklearnRMSE float64
	}
}

func readSupervised(t *testing.T) (s supervised) {
	t.Helper()
	text, err := os.ReadFile("testdata/supervised.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &s))
	return s
}

func TestMetricsAgainstScikitLearn(t *testing.T) {
	c := readSupervised(t).Classified
	confusion, err := learn.ConfusionAt(0.5, c.Scores, c.Events)
	require.NoError(t, err)
	counts := [4]int{confusion.TrueNegatives, confusion.FalsePositives, confusion.FalseNegatives, confusion.TruePositives}
	require.Equal(t, c.Confusion, counts)
	require.InDelta(t, c.Accuracy, confusion.Accuracy(), 1e-12)
	require.InDelta(t, c.Precision, confusion.Precision(), 1e-12)
	require.InDelta(t, c.Recall, confusion.Recall(), 1e-12)
	require.InDelta(t, c.F1, confusion.F1(), 1e-12)
	for _, m := range []struct {
		name string
		of   func([]float64, []bool, []float64) (float64, error)
		want float64
	}{{"ROC AUC", learn.ROCAUC, c.ROCAUC}, {"PR AUC", func(s []float64, e []bool, _ []float64) (float64, error) { return learn.PRAUC(s, e) }, c.PRAUC}, {"Brier", learn.Brier, c.Brier}} {
		v, err := m.of(c.Scores, c.Events, nil)
		require.NoError(t, err)
		require.InDelta(t, m.want, v, 1e-12, m.name)
	}
	curve, err := learn.Reliability(c.Scores, c.Events, nil, 10)
	require.NoError(t, err)
	require.Len(t, curve, len(c.Observed))
	for k, b := range curve {
		require.InDelta(t, c.Observed[k], b.Observed, 1e-11)
		require.InDelta(t, c.Predicted[k], b.Predicted, 1e-11)
	}
}

func TestCalibrationAgainstScikitLearn(t *testing.T) {
	c := readSupervised(t).Classified
	line, err := learn.FitIsotonic(c.Scores, c.Events)
	require.NoError(t, err)
	for i, at := range c.At {
		require.InDelta(t, c.Isotonic[i], line.Probability(at), 1e-11, "at %v", at)
	}
	odds := make([]float64, len(c.Scores))
	for i, p := range c.Scores {
		odds[i] = math.Log(p / (1 - p))
	}
	curve, err := learn.FitPlatt(odds, c.Events, nil)
	require.NoError(t, err)
	for i, s := range odds {
		require.InDelta(t, c.Platt[i], curve.Probability(s), 1e-6)
	}
}

func TestRidgeAgainstScikitLearn(t *testing.T) {
	l := readSupervised(t).Line
	x := mat.NewDense(len(l.X), len(l.X[0]), nil)
	for i, row := range l.X {
		x.SetRow(i, row)
	}
	given, err := learn.FitRidge(context.Background(), x, l.Y, learn.RidgeOptions{Penalty: 7.5})
	require.NoError(t, err)
	best, err := learn.FitRidge(context.Background(), x, l.Y, learn.RidgeOptions{})
	require.NoError(t, err)
	require.InEpsilon(t, l.BestPenalty, best.Penalty(), 1e-9)
	for i, row := range l.X {
		require.InDelta(t, l.Given[i], given.Predict(row), 1e-9)
		require.InDelta(t, l.Best[i], best.Predict(row), 1e-9)
	}
}

// Without sampling, the trees are those of LightGBM; its gradients have 24 bits.
func TestBoostAgainstLightGBM(t *testing.T) {
	l := readSupervised(t).Trees
	x := mat.NewDense(len(l.X), len(l.X[0]), nil)
	for i, row := range l.X {
		for j, v := range row {
			if x.Set(i, j, math.NaN()); v != nil {
				x.Set(i, j, *v)
			}
		}
	}
	options := learn.BoostOptions{Trees: 15, LearningRate: 0.2, MaxDepth: 3, MinLeaf: 12, L2: 2, RowFraction: 1, ColumnFraction: 1}
	regression, err := learn.FitRegression(context.Background(), x, l.Y, options)
	require.NoError(t, err)
	options.Trees, options.MinLeaf = 4, 2
	classifier, err := learn.FitClassifier(context.Background(), x, l.Events, options)
	require.NoError(t, err)
	for i := range l.X {
		require.InDelta(t, l.Regression[i], regression.Predict(x.RawRowView(i)), 1e-6, "row %d", i)
		require.InDelta(t, l.Probability[i], classifier.Predict(x.RawRowView(i)), 1e-6, "row %d", i)
	}
}

// At the default options the error is at most a few percent above that of LightGBM and scikit-learn at the same ones.
func TestBoostIsAsAccurateAsLightGBM(t *testing.T) {
	f := readSupervised(t).Friedman
	x, y := friedman(f.Rows)
	half := f.Rows / 2
	var rmse float64
	const seeds = 3
	for seed := range uint64(seeds) {
		model, err := learn.FitRegression(context.Background(), x.Slice(0, half, 0, 10), y[:half], learn.BoostOptions{Seed: seed})
		require.NoError(t, err)
		predicted := make([]float64, 0, half)
		for i := half; i < f.Rows; i++ {
			predicted = append(predicted, model.Predict(x.RawRowView(i)))
		}
		e, err := learn.RMSE(predicted, y[half:])
		require.NoError(t, err)
		rmse += e / seeds
	}
	require.LessOrEqual(t, rmse, 1.03*f.LightgbmRMSE)
	require.LessOrEqual(t, rmse, 1.03*f.SklearnRMSE)
	t.Logf("RMSE %.3f; LightGBM %.3f, scikit-learn %.3f", rmse, f.LightgbmRMSE, f.SklearnRMSE)
}

// friedman draws rows of 10 columns and Friedman's first function of five of them with noise of deviation 1, by the numbers of
// supervised.py.
func friedman(rows int) (x *mat.Dense, y []float64) {
	state := uint64(1)
	next := func() float64 {
		state = 6364136223846793005*state + 1442695040888963407
		return float64(state>>11) / (1 << 53)
	}
	x, y = mat.NewDense(rows, 10, nil), make([]float64, rows)
	for i := range rows {
		for j := range 10 {
			x.Set(i, j, next())
		}
		noise := -6.0
		for range 12 {
			noise += next()
		}
		y[i] = 10*math.Sin(math.Pi*x.At(i, 0)*x.At(i, 1)) + 20*math.Pow(x.At(i, 2)-0.5, 2) + 10*x.At(i, 3) + 5*x.At(i, 4) + noise
	}
	return x, y
}
