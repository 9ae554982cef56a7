package learn

import (
	"cmp"
	"math"
	"slices"
)

// Confusion counts the decisions of a classifier.
type Confusion struct {
	TruePositives, FalsePositives, TrueNegatives, FalseNegatives int
}

// ConfusionAt counts the decisions score >= threshold against what happened.
// It returns an error for slices that are empty or differ in length, and for a score that is NaN.
func ConfusionAt(threshold float64, scores []float64, positive []bool) (Confusion, error) {
	if err := checkScores(scores, positive); err != nil {
		return Confusion{}, err
	}
	var c Confusion
	for i, s := range scores {
		switch yes := s >= threshold; {
		case yes && positive[i]:
			c.TruePositives++
		case yes:
			c.FalsePositives++
		case positive[i]:
			c.FalseNegatives++
		default:
			c.TrueNegatives++
		}
	}
	return c, nil
}

// Count returns the number of decisions.
func (c Confusion) Count() int {
	return c.TruePositives + c.FalsePositives + c.TrueNegatives + c.FalseNegatives
}

// Accuracy returns the share of decisions that are right, from 0 to 1; 0 without any.
func (c Confusion) Accuracy() float64 { return ratio(c.TruePositives+c.TrueNegatives, c.Count()) }

// Precision returns the share of true ones among the positive decisions, from 0 to 1; 0 without any.
func (c Confusion) Precision() float64 {
	return ratio(c.TruePositives, c.TruePositives+c.FalsePositives)
}

// Recall returns the share of the events that were found, from 0 to 1; 0 without any.
func (c Confusion) Recall() float64 { return ratio(c.TruePositives, c.TruePositives+c.FalseNegatives) }

// FalseAlarmRate returns the share of positive decisions where there was no event, from 0 to 1; 0 without any.
func (c Confusion) FalseAlarmRate() float64 {
	return ratio(c.FalsePositives, c.FalsePositives+c.TrueNegatives)
}

// F1 returns the harmonic mean of precision and recall, from 0 to 1; 0 without a true positive.
func (c Confusion) F1() float64 {
	return ratio(2*c.TruePositives, 2*c.TruePositives+c.FalsePositives+c.FalseNegatives)
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// ROCAUC returns the area under the receiver operating characteristic: the probability that an event scores higher than
// a row without one, where equal scores count half. Weights are those of the rows, nil for 1 each. It returns an error unless there are both.
//
// Source: J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a ROC curve", Radiology 143, 1982.
func ROCAUC(scores []float64, positive []bool, weights []float64) (float64, error) {
	groups, err := ranked(scores, positive, weights)
	if err != nil {
		return 0, err
	}
	var above, area float64 // events with a higher score; pairs in the right order
	var events, others float64
	for _, g := range groups {
		area += g.others * (above + g.events/2)
		above += g.events
		events += g.events
		others += g.others
	}
	if events == 0 || others == 0 {
		return 0, dataError("%v events among %v rows; both are needed", events, events+others)
	}
	return area / (events * others), nil
}

// PRAUC returns the area under the curve of precision over recall as average precision: the mean of the precision at each
// event, in descending order of score, where rows with equal scores count together. It returns an error if there is no event.
//
// Source: J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves", ICML 2006, which shows why
// the curve must not be interpolated linearly.
func PRAUC(scores []float64, positive []bool) (float64, error) {
	groups, err := ranked(scores, positive, nil)
	if err != nil {
		return 0, err
	}
	var events, seen, sum float64
	for _, g := range groups {
		events += g.events
		seen += g.events + g.others
		sum += g.events * events / seen
	}
	if events == 0 {
		return 0, dataError("no event among %v rows", seen)
	}
	return sum / events, nil
}

// tied has the weight of the rows with a score.
type tied struct{ score, events, others float64 }

// ranked returns the rows grouped by score, highest first.
func ranked(scores []float64, positive []bool, weights []float64) ([]tied, error) {
	if err := checkScores(scores, positive); err != nil {
		return nil, err
	}
	if err := checkWeights(weights, len(scores)); err != nil {
		return nil, err
	}
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var groups []tied
	for k, i := range order {
		if k == 0 || scores[i] != scores[order[k-1]] {
			groups = append(groups, tied{score: scores[i]})
		}
		if g := &groups[len(groups)-1]; positive[i] {
			g.events += weightOf(weights, i)
		} else {
			g.others += weightOf(weights, i)
		}
	}
	return groups, nil
}

func checkScores(scores []float64, positive []bool) error {
	if err := sameLength(len(scores), len(positive), "scores", "labels"); err != nil {
		return err
	}
	if i := slices.IndexFunc(scores, math.IsNaN); i >= 0 {
		return dataError("scores[%d] is NaN", i)
	}
	return nil
}

// RMSE returns the root of the mean squared difference, in the unit of the values.
// It returns an error for slices that are empty or differ in length, and for a value that is not finite; so do [MAE] and [NASAScore].
func RMSE(predicted, actual []float64) (float64, error) {
	sum, err := sumOf(predicted, actual, func(d float64) float64 { return d * d })
	if err != nil {
		return 0, err
	}
	return math.Sqrt(sum / float64(len(actual))), nil
}

// MAE returns the mean absolute difference, in the unit of the values.
func MAE(predicted, actual []float64) (float64, error) {
	sum, err := sumOf(predicted, actual, math.Abs)
	if err != nil {
		return 0, err
	}
	return sum / float64(len(actual)), nil
}

// NASAScore returns the score of the PHM 2008 challenge for remaining useful lives in cycles: the sum of exp(-d/13)-1 for
// d < 0 and exp(d/10)-1 for others, where d is predicted minus actual. Less is better; late predictions cost more; it grows
// with the number of rows.
//
// Source: A. Saxena, K. Goebel, D. Simon, N. Eklund, "Damage propagation modeling for aircraft engine run-to-failure
// simulation", PHM 2008.
func NASAScore(predicted, actual []float64) (float64, error) {
	return sumOf(predicted, actual, func(d float64) float64 {
		if d < 0 {
			return math.Expm1(-d / 13)
		}
		return math.Expm1(d / 10)
	})
}

// sumOf returns the sum of cost(predicted - actual).
func sumOf(predicted, actual []float64, cost func(d float64) float64) (sum float64, err error) {
	if err := sameLength(len(predicted), len(actual), "predictions", "actual values"); err != nil {
		return 0, err
	}
	if err := allFinite(predicted, "predicted"); err != nil {
		return 0, err
	}
	if err := allFinite(actual, "actual"); err != nil {
		return 0, err
	}
	for i, p := range predicted {
		sum += cost(p - actual[i])
	}
	return sum, nil
}
