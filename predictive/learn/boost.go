package learn

import (
	"math"
)

// Boost is a sum of regression trees, fitted by [FitRegression] or [FitClassifier]. It is immutable and safe for concurrent use.
//
// Sources: J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001, and
// "Stochastic gradient boosting", 2002; T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016, for
// Newton steps, their penalty and missing values; G. Ke et al., "LightGBM: a highly efficient gradient boosting decision
// tree", NeurIPS 2017, for histograms, whose difference is that of the sibling.
type Boost struct {
	logistic bool
	columns  int
	bias     float64   // the score before the first tree
	base     float64   // bias and the mean outputs of the trees
	gains    []float64 // by column; they add up to 1, or are all 0
	trees    [][]node
}

// Columns returns the number of columns of the matrix that the model was fitted to.
func (b *Boost) Columns() int { return b.columns }

// Trees returns the number of trees.
func (b *Boost) Trees() int { return len(b.trees) }

// Classifier reports whether the model is one of [FitClassifier].
func (b *Boost) Classifier() bool { return b.logistic }

// Importance returns the share of each column in the reduction of the loss. The shares add up to 1, or are all 0 if no
// column was of use.
func (b *Boost) Importance() []float64 { return append([]float64(nil), b.gains...) }

// Predict returns the expected value of a row, in the unit of the labels, or the probability of an event, from 0 to 1, for a
// model of [FitClassifier]. The row has a value for each column, NaN where it is missing. For a row of another length, Predict
// returns NaN. It does not allocate.
func (b *Boost) Predict(row []float64) float64 {
	s := b.Score(row)
	if b.logistic {
		return sigmoid(s)
	}
	return s
}

// Score returns the sum of the trees: what [Boost.Predict] returns or, for a model of [FitClassifier], its log-odds.
func (b *Boost) Score(row []float64) float64 {
	if len(row) != b.columns {
		return math.NaN()
	}
	score := b.bias
	for _, tree := range b.trees {
		at := int32(0)
		for n := &tree[at]; !n.leaf(); n = &tree[at] {
			if n.left(row[n.column]) {
				at++
			} else {
				at = n.right
			}
		}
		score += float64(tree[at].value)
	}
	return score
}

// Base returns the mean of [Boost.Score] over the rows that the trees were fitted to.
func (b *Boost) Base() float64 { return b.base }

// Contributions returns how much each column moves [Boost.Score] of a row away from [Boost.Base]: their sum is the
// difference. It returns them in dst if that has room for them, and then does not allocate, and nil for a row of the wrong length.
//
// A column gets what the mean of the rows changes at each division by it on the path of the row; columns that
// divide near the root get less than with Shapley values, which cost far more.
//
// Source: A. Saabas, "Interpreting random forests", 2014.
func (b *Boost) Contributions(row, dst []float64) []float64 {
	if len(row) != b.columns {
		return nil
	}
	dst = sized(dst, b.columns)
	clear(dst)
	for _, tree := range b.trees {
		at := int32(0)
		for n := &tree[at]; !n.leaf(); n = &tree[at] {
			next := n.right
			if n.left(row[n.column]) {
				next = at + 1
			}
			dst[n.column] += float64(tree[next].value) - float64(n.value)
			at = next
		}
	}
	return dst
}

func sigmoid(score float64) float64 { return 1 / (1 + math.Exp(-score)) }
