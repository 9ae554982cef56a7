package learn

import (
	"math"
	"slices"
	"sort"
)

// Isotonic maps scores to probabilities by a line that never falls, fitted by [FitIsotonic]. It is immutable and safe for
// concurrent use.
//
// Sources: M. Ayer et al., "An empirical distribution function for sampling with incomplete information", Annals of
// Mathematical Statistics 26, 1955, for pool adjacent violators; B. Zadrozny and C. Elkan, "Transforming classifier scores
// into accurate multiclass probability estimates", KDD 2002.
type Isotonic struct {
	scores, probabilities []float64 // corners of the line; scores ascend, probabilities do not fall
}

// FitIsotonic fits the line to what happened at each score. It needs finite scores that the model was not fitted to, at least
// about 50 of them with the event: with fewer use [FitPlatt].
func FitIsotonic(scores []float64, positive []bool) (*Isotonic, error) {
	if err := allFinite(scores, "scores"); err != nil {
		return nil, err
	}
	groups, err := ranked(scores, positive, nil)
	if err != nil {
		return nil, err
	}
	slices.Reverse(groups)
	line := &Isotonic{}
	for _, p := range poolAdjacentViolators(groups) {
		line.add(p.low, p.mean())
		if p.high > p.low {
			line.add(p.high, p.mean())
		}
	}
	return line, nil
}

func (c *Isotonic) add(score, probability float64) {
	c.scores, c.probabilities = append(c.scores, score), append(c.probabilities, probability)
}

// pool is a range of scores with one probability.
type pool struct{ low, high, events, rows float64 }

func (p pool) mean() float64 { return p.events / p.rows }

// poolAdjacentViolators joins neighbours, in ascending order of score, until their probabilities ascend too.
func poolAdjacentViolators(groups []tied) (pools []pool) {
	for _, g := range groups {
		next := pool{g.score, g.score, g.events, g.events + g.others}
		for n := len(pools); n > 0 && pools[n-1].mean() >= next.mean(); n = len(pools) {
			last := pools[n-1]
			next = pool{last.low, next.high, last.events + next.events, last.rows + next.rows}
			pools = pools[:n-1]
		}
		pools = append(pools, next)
	}
	return pools
}

// Probability returns the probability of the event at a score, from 0 to 1: between the scores that were seen by linear interpolation,
// outside them that of the nearest. For NaN it returns NaN.
func (c *Isotonic) Probability(score float64) float64 {
	n := len(c.scores)
	switch k := sort.SearchFloat64s(c.scores, score); {
	case n == 0 || math.IsNaN(score):
		return math.NaN()
	case k == n:
		return c.probabilities[n-1]
	case k == 0 || c.scores[k] == score:
		return c.probabilities[k]
	default:
		share := (score - c.scores[k-1]) / (c.scores[k] - c.scores[k-1])
		return c.probabilities[k-1] + share*(c.probabilities[k]-c.probabilities[k-1])
	}
}

// MarshalBinary returns the line as bytes. The error is always nil.
func (c *Isotonic) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindIsotonic, 1)
	e.floats(c.scores)
	e.floats(c.probabilities)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the line by one that MarshalBinary wrote; see [ErrModel].
func (c *Isotonic) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindIsotonic, 1)
	read := Isotonic{d.finites(math.MaxInt32), d.finites(math.MaxInt32)}
	n := len(read.scores)
	if n == 0 || n != len(read.probabilities) || !slices.IsSorted(read.scores) || !slices.IsSorted(read.probabilities) ||
		read.probabilities[0] < 0 || read.probabilities[n-1] > 1 {
		d.fail("the line is not one that rises from 0 to 1")
	}
	if err := d.end(); err != nil {
		return err
	}
	*c = read
	return nil
}

// Platt maps scores to probabilities by a logistic curve, fitted by [FitPlatt]. It is immutable and safe for concurrent use.
//
// Sources: J. Platt, "Probabilistic outputs for support vector machines", 1999; H.-T. Lin, C.-J. Lin and R. C. Weng, "A note on
// Platt's probabilistic outputs for support vector machines", Machine Learning 68, 2007, for the labels and the iteration.
type Platt struct{ slope, offset float64 }

// FitPlatt fits the curve to what happened at each score, which must be finite; both cases are needed. Weights are those of the rows, nil for 1 each.
// Scores should be log-odds, as of [Boost.Score].
func FitPlatt(scores []float64, positive []bool, weights []float64) (*Platt, error) {
	if err := checkScores(scores, positive); err != nil {
		return nil, err
	}
	if err := allFinite(scores, "scores"); err != nil {
		return nil, err
	}
	if err := checkWeights(weights, len(scores)); err != nil {
		return nil, err
	}
	var events, others float64
	for i, yes := range positive {
		if yes {
			events += weightOf(weights, i)
		} else {
			others += weightOf(weights, i)
		}
	}
	if events == 0 || others == 0 {
		return nil, dataError("%v events among %d rows; both are needed", events, len(positive))
	}
	// Labels are not quite 0 and 1, as if one more row of each kind had been seen.
	high, low := (events+1)/(events+2), 1/(others+2)
	s := outcomes{scores, func(i int) float64 {
		if positive[i] {
			return high
		}
		return low
	}, weights}
	p := Platt{0, math.Log((events + 1) / (others + 1))}
	for loss := p.loss(s); ; {
		next, nextLoss := p.step(s, loss)
		if !(nextLoss < loss-1e-12*math.Abs(loss)) {
			return &p, nil
		}
		p, loss = next, nextLoss
	}
}

// outcomes are what a curve is fitted to.
type outcomes struct {
	scores  []float64
	target  func(i int) float64
	weights []float64
}

// loss returns the logarithmic loss.
func (c Platt) loss(o outcomes) (sum float64) {
	for i, s := range o.scores {
		z := c.slope*s + c.offset
		sum += weightOf(o.weights, i) * (math.Max(z, 0) - o.target(i)*z + math.Log1p(math.Exp(-math.Abs(z))))
	}
	return sum
}

// step returns the curve after a step of Newton's method, halved until it reduces the loss, and its loss.
func (c Platt) step(o outcomes, loss float64) (Platt, float64) {
	var gs, g, hss, hs, h float64 // derivatives by slope and offset
	for i, s := range o.scores {
		p, weight := sigmoid(c.slope*s+c.offset), weightOf(o.weights, i)
		d, w := weight*(p-o.target(i)), weight*p*(1-p)
		gs, g = gs+d*s, g+d
		hss, hs, h = hss+w*s*s, hs+w*s, h+w
	}
	hss, h = hss+1e-12, h+1e-12 // equal scores
	determinant := hss*h - hs*hs
	slope, offset := -(h*gs-hs*g)/determinant, -(hss*g-hs*gs)/determinant
	for size := 1.0; size > 1e-10; size /= 2 {
		next := Platt{c.slope + size*slope, c.offset + size*offset}
		if l := next.loss(o); l < loss && finite(next.slope) && finite(next.offset) {
			return next, l
		}
	}
	return c, loss
}

// Probability returns the probability of the event at a score, from 0 to 1. For NaN it returns NaN.
func (c *Platt) Probability(score float64) float64 { return sigmoid(c.slope*score + c.offset) }

// MarshalBinary returns the curve as bytes. The error is always nil.
func (c *Platt) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindPlatt, 1)
	e.float(c.slope)
	e.float(c.offset)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the curve by one that MarshalBinary wrote; see [ErrModel].
func (c *Platt) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindPlatt, 1)
	read := Platt{d.finite(), d.finite()}
	if err := d.end(); err != nil {
		return err
	}
	*c = read
	return nil
}
