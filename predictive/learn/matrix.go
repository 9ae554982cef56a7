package learn

import (
	"errors"
	"fmt"
	"math"
)

// ErrData is wrapped by errors about data that cannot be learned from or judged: too few rows, lengths that differ, values out of range.
var ErrData = errors.New("learn: unusable data")

// Matrix is a table of numbers, such as a [gonum.org/v1/gonum/mat.Dense]. NaN is a missing value.
// Dims and At must be safe for concurrent use while a model is fitted.
type Matrix interface {
	// Dims returns the number of rows and columns.
	Dims() (rows, cols int)
	// At returns the value in row i and column j, both from 0.
	At(i, j int) float64
}

// dataError returns an error that wraps [ErrData].
func dataError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrData, fmt.Sprintf(format, args...))
}

// sameLength returns an error unless a and b, named as in "predictions" and "labels", have the same length and are not empty.
func sameLength(a, b int, nameA, nameB string) error {
	if a != b {
		return dataError("%d %s and %d %s; the numbers must be equal", a, nameA, b, nameB)
	}
	if a == 0 {
		return dataError("no %s", nameA)
	}
	return nil
}

// allFinite returns an error that names the first value of list that is NaN or infinite.
func allFinite(list []float64, name string) error {
	for i, v := range list {
		if !finite(v) {
			return dataError("%s[%d] is %v; it must be finite", name, i, v)
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// dims returns the shape of a matrix, or an error if it is nil or has no cells.
func dims(x Matrix) (rows, cols int, err error) {
	if x == nil {
		return 0, 0, dataError("the matrix is nil")
	}
	if rows, cols = x.Dims(); rows <= 0 || cols <= 0 {
		return 0, 0, dataError("the matrix has %d rows and %d columns", rows, cols)
	}
	return rows, cols, nil
}

// checkWeights checks the weights of rows, nil for 1 each.
func checkWeights(weights []float64, rows int) error {
	if weights == nil {
		return nil
	}
	if err := sameLength(len(weights), rows, "weights", "rows"); err != nil {
		return err
	}
	total := 0.0
	for i, w := range weights {
		if !finite(w) || w < 0 {
			return dataError("Weights[%d] is %v; it must be finite and not negative", i, w)
		}
		total += w
	}
	if total <= 0 || !finite(total) {
		return dataError("the weights add up to %v", total)
	}
	return nil
}

func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}
