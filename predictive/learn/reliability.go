package learn

import "math"

// ReliabilityBin compares the probabilities of a range with what happened.
type ReliabilityBin struct {
	Low, High float64 // the range of the probabilities, High excluded but in the last bin
	Predicted float64 // their mean
	Observed  float64 // the share of the rows with the event
	Weight    float64 // of the rows
	Count     int     // rows
}

// Reliability returns the reliability curve of probabilities, from 0 to 1, in the given number of bins of equal width, 1 to
// 1000. Bins without rows are omitted. Weights are those of the rows, nil for 1 each.
//
// Source: A. Niculescu-Mizil and R. Caruana, "Predicting good probabilities with supervised learning", ICML 2005.
func Reliability(probabilities []float64, positive []bool, weights []float64, bins int) ([]ReliabilityBin, error) {
	if err := checkProbabilities(probabilities, positive, weights); err != nil {
		return nil, err
	}
	if bins < 1 || bins > 1000 {
		return nil, dataError("%d bins; 1 to 1000 are possible", bins)
	}
	all := make([]ReliabilityBin, bins)
	for i, p := range probabilities {
		b := &all[min(int(p*float64(bins)), bins-1)]
		w := weightOf(weights, i)
		b.Count++
		b.Weight += w
		b.Predicted += w * p
		if positive[i] {
			b.Observed += w
		}
	}
	curve := all[:0]
	for k, b := range all {
		if n := b.Weight; n > 0 {
			curve = append(curve, ReliabilityBin{float64(k) / float64(bins), float64(k+1) / float64(bins), b.Predicted / n, b.Observed / n, n, b.Count})
		}
	}
	return curve, nil
}

// CalibrationError returns the expected calibration error in ten bins, from 0 to 1: the mean over the rows of how far the probabilities
// of a bin are from what happened. Weights are those of the rows, nil for 1 each.
//
// Source: M. P. Naeini, G. F. Cooper and M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
func CalibrationError(probabilities []float64, positive []bool, weights []float64) (float64, error) {
	curve, err := Reliability(probabilities, positive, weights, 10)
	if err != nil {
		return 0, err
	}
	sum, total := 0.0, 0.0
	for _, b := range curve {
		sum += b.Weight * math.Abs(b.Predicted-b.Observed)
		total += b.Weight
	}
	return sum / total, nil
}

// Brier returns the mean squared difference of probabilities and what happened, from 0 to 1. Less is better. Weights are those of the
// rows, nil for 1 each.
//
// Source: G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78, 1950.
func Brier(probabilities []float64, positive []bool, weights []float64) (float64, error) {
	if err := checkProbabilities(probabilities, positive, weights); err != nil {
		return 0, err
	}
	sum, total := 0.0, 0.0
	for i, p := range probabilities {
		if positive[i] {
			p = 1 - p
		}
		w := weightOf(weights, i)
		sum += w * p * p
		total += w
	}
	return sum / total, nil
}

func checkProbabilities(probabilities []float64, positive []bool, weights []float64) error {
	if err := checkScores(probabilities, positive); err != nil {
		return err
	}
	if err := checkWeights(weights, len(probabilities)); err != nil {
		return err
	}
	for i, p := range probabilities {
		if p < 0 || p > 1 {
			return dataError("probabilities[%d] is %v; it must be 0 to 1", i, p)
		}
	}
	return nil
}
