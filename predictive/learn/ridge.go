package learn

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Ridge is a linear regression with a penalty on the squares of its coefficients, fitted by [FitRidge]. It is immutable and
// safe for concurrent use.
//
// Sources: A. E. Hoerl and R. W. Kennard, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 12,
// 1970; G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method for choosing a good ridge parameter",
// Technometrics 21, 1979.
type Ridge struct {
	penalty   float64
	intercept float64   // the prediction for a row of means
	means     []float64 // by column
	slopes    []float64 // by column, in units of the label per unit of the column
}

// RidgeOptions are the options of [FitRidge]. The zero value chooses the penalty by generalised cross-validation.
type RidgeOptions struct {
	// Penalty is the weight of the squared coefficients of the standardised columns, in rows. 0 means: the one of 10^-6 to 10^6
	// times the number of rows, four per decade, with the least generalised cross-validation error.
	Penalty float64
}

// FitRidge fits a line to y, one finite value per row of x. Columns are standardised first, so that their units do not
// matter. Missing values count as the mean of their column, and columns without different values are not used. Infinite values
// of x are an error.
//
// It takes at least 2 rows and, beside x, 8 bytes for each square of the number of columns. The same data give the same model. When
// ctx is done, it returns the error of ctx.
func FitRidge(ctx context.Context, x Matrix, y []float64, options RidgeOptions) (*Ridge, error) {
	rows, cols, err := dims(x)
	if err != nil {
		return nil, err
	}
	if err := sameLength(len(y), rows, "labels", "rows"); err != nil {
		return nil, err
	}
	if err := allFinite(y, "y"); err != nil {
		return nil, err
	}
	if rows < 2 {
		return nil, dataError("%d row; at least 2 are needed", rows)
	}
	if !(options.Penalty >= 0) || math.IsInf(options.Penalty, 1) {
		return nil, dataError("RidgeOptions.Penalty is %v; it must be finite and not negative", options.Penalty)
	}
	r := &Ridge{means: make([]float64, cols), slopes: make([]float64, cols), penalty: options.Penalty}
	deviations := make([]float64, cols)
	for j := range cols {
		if r.means[j], deviations[j], err = meanAndDeviation(x, j); err != nil {
			return nil, err
		}
	}
	for i, v := range y {
		r.intercept += (v - r.intercept) / float64(i+1)
	}
	s, err := newSpectrum(ctx, x, y, r.means, deviations, r.intercept)
	if err != nil {
		return nil, err
	}
	if r.penalty == 0 {
		r.penalty = s.bestPenalty()
	}
	for j, c := range s.coefficients(r.penalty) {
		if deviations[j] > 0 {
			r.slopes[j] = c / deviations[j]
		}
	}
	return r, nil
}

// meanAndDeviation returns the mean and the standard deviation, divided by n, of the values of a column that are not missing.
func meanAndDeviation(x Matrix, j int) (mean, deviation float64, err error) {
	rows, _ := x.Dims()
	var n, squares float64
	for i := range rows {
		v := x.At(i, j)
		switch {
		case math.IsNaN(v):
			continue
		case math.IsInf(v, 0):
			return 0, 0, dataError("the matrix has %v in row %d, column %d", v, i, j)
		}
		n++
		d := v - mean
		mean += d / n
		squares += d * (v - mean)
	}
	if !finite(mean) || !finite(squares) {
		return 0, 0, dataError("the values of column %d are too large", j)
	}
	deviation = math.Sqrt(squares / max(n, 1))
	if deviation <= 1e-12*math.Abs(mean) {
		deviation = 0 // what rounding leaves of equal values
	}
	return mean, deviation, nil
}

// spectrum has the eigenvalues and eigenvectors of the products of the standardised columns, in which all penalties are cheap.
type spectrum struct {
	rows    int
	values  []float64 // eigenvalues, ascending
	vectors mat.Dense // a column for each
	along   []float64 // the products of the columns with y, along each vector
	squares float64   // of y about its mean
}

func newSpectrum(ctx context.Context, x Matrix, y, means, deviations []float64, intercept float64) (*spectrum, error) {
	rows, cols := x.Dims()
	products := make([]float64, cols*cols) // upper triangle
	withLabel := make([]float64, cols)
	row := make([]float64, cols)
	s := &spectrum{rows: rows}
	for i := range rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for j := range row {
			row[j] = 0
			if v := x.At(i, j); deviations[j] > 0 && !math.IsNaN(v) {
				row[j] = (v - means[j]) / deviations[j]
			}
		}
		label := y[i] - intercept
		s.squares += label * label
		for j, v := range row {
			if v == 0 {
				continue
			}
			withLabel[j] += v * label
			into := products[j*cols : (j+1)*cols]
			for k := j; k < cols; k++ {
				into[k] += v * row[k]
			}
		}
	}
	if !finite(s.squares) {
		return nil, dataError("the labels are too large")
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(cols, products), true) {
		return nil, dataError("the eigenvalues of the columns cannot be found")
	}
	s.values = e.Values(nil)
	e.VectorsTo(&s.vectors)
	along := mat.NewVecDense(cols, nil)
	along.MulVec(s.vectors.T(), mat.NewVecDense(cols, withLabel))
	s.along = along.RawVector().Data
	return s, nil
}

// bestPenalty returns the penalty with the least generalised cross-validation error: the squared residuals, divided by the square of
// the degrees of freedom that are left.
func (s *spectrum) bestPenalty() float64 {
	best, least := 0.0, math.Inf(1)
	for k := -24; k <= 24; k++ {
		penalty := float64(s.rows) * math.Pow(10, float64(k)/4)
		residual, left := s.squares, float64(s.rows-1) // one degree is the mean
		for i, v := range s.values {
			v = max(v, 0)
			// The residual of a direction with coefficient c is that of least squares and its shrinkage.
			residual -= s.along[i] * s.along[i] * (v + 2*penalty) / ((v + penalty) * (v + penalty))
			left -= v / (v + penalty)
		}
		if e := max(residual, 0) / (left * left); left > 0 && e < least {
			best, least = penalty, e
		}
	}
	return best
}

// coefficients returns those of the standardised columns.
func (s *spectrum) coefficients(penalty float64) []float64 {
	scaled := make([]float64, len(s.values))
	for i, v := range s.values {
		scaled[i] = s.along[i] / (max(v, 0) + penalty)
	}
	c := mat.NewVecDense(len(scaled), nil)
	c.MulVec(&s.vectors, mat.NewVecDense(len(scaled), scaled))
	return c.RawVector().Data
}

// Columns returns the number of columns of the matrix that the model was fitted to.
func (r *Ridge) Columns() int { return len(r.means) }

// Penalty returns the penalty that was given or chosen, in rows.
func (r *Ridge) Penalty() float64 { return r.penalty }

// Slopes returns how much each column moves the prediction, in units of the label per unit of the column.
func (r *Ridge) Slopes() []float64 { return append([]float64(nil), r.slopes...) }

// Predict returns the value of the line at a row, in the unit of the labels. NaN counts as the mean of its column. For a row of
// another length than [Ridge.Columns], Predict returns NaN. It does not allocate.
func (r *Ridge) Predict(row []float64) float64 {
	if len(row) != len(r.means) {
		return math.NaN()
	}
	sum := r.intercept
	for j, v := range row {
		if r.slopes[j] != 0 && !math.IsNaN(v) {
			sum += r.slopes[j] * (v - r.means[j])
		}
	}
	return sum
}

// Base returns the prediction for a row of means.
func (r *Ridge) Base() float64 { return r.intercept }

// Contributions returns how much each column moves [Ridge.Predict] of a row away from [Ridge.Base], as [Boost.Contributions] does.
func (r *Ridge) Contributions(row, dst []float64) []float64 {
	if len(row) != len(r.means) {
		return nil
	}
	dst = sized(dst, len(row))
	for j, v := range row {
		dst[j] = 0
		if r.slopes[j] != 0 && !math.IsNaN(v) {
			dst[j] = r.slopes[j] * (v - r.means[j])
		}
	}
	return dst
}

// sized returns dst with length n, or a new slice if dst has no room for it.
func sized(dst []float64, n int) []float64 {
	if cap(dst) < n {
		return make([]float64, n)
	}
	return dst[:n]
}

// MarshalBinary returns the model as bytes. The error is always nil.
func (r *Ridge) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindRidge, 1)
	e.float(r.penalty)
	e.float(r.intercept)
	e.floats(r.means)
	e.floats(r.slopes)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the model by one that MarshalBinary wrote; see [ErrModel].
func (r *Ridge) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindRidge, 1)
	read := Ridge{penalty: d.finite(), intercept: d.finite(), means: d.finites(maxColumns), slopes: d.finites(maxColumns)}
	if len(read.means) == 0 || len(read.means) != len(read.slopes) {
		d.fail("%d means and %d slopes", len(read.means), len(read.slopes))
	}
	if err := d.end(); err != nil {
		return err
	}
	*r = read
	return nil
}
