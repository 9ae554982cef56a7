package learn

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Conformal has intervals around predictions that cover a chosen share of the actual values, whatever the model and the distribution,
// fitted by [FitConformal]. It is immutable and safe for concurrent use.
//
// Sources: V. Vovk, A. Gammerman and G. Shafer, "Algorithmic Learning in a Random World", 2005, for conformal prediction by
// category; J. Lei et al., "Distribution-free predictive inference for regression", JASA 113, 2018, for its split form.
type Conformal struct {
	coverage float64
	edges    []float64 // the predictions where each bin but the last ends
	widths   []float64 // half of the interval of each bin
}

// ConformalOptions are the options of [FitConformal].
type ConformalOptions struct {
	// Coverage is the share of the actual values in the intervals, above 0, below 1. Default 0.9.
	Coverage float64
	// Bins is the number of ranges of the prediction, of equal width, that may have intervals of different widths, 1 to 1000. Default 5.
	Bins int
	// MinCount is the least number of rows of a range; smaller ones are joined. Default 30.
	MinCount int
}

// FitConformal finds how wide the intervals must be from predictions and actual values, both finite, that the model was not
// fitted to. The half width of a range of predictions with n rows is the k-th smallest absolute difference, where k
// is Coverage*(n+1), rounded up; so a Coverage of 0.9 takes at least 9 rows.
//
// The coverage holds on average if rows to come are exchangeable with those given. Rows of one unit resemble each
// other: what counts then is the number of units.
func FitConformal(predicted, actual []float64, options ConformalOptions) (*Conformal, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := sameLength(len(predicted), len(actual), "predictions", "actual values"); err != nil {
		return nil, err
	}
	if err := allFinite(predicted, "predicted"); err != nil {
		return nil, err
	}
	if err := allFinite(actual, "actual"); err != nil {
		return nil, err
	}
	if n := len(actual); o.rank(n) > n {
		return nil, dataError("%d rows; a coverage of %v takes at least %d", n, o.Coverage, int(math.Ceil(o.Coverage/(1-o.Coverage)-1e-9)))
	}
	order := make([]int, len(predicted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(predicted[a], predicted[b]) })
	least := predicted[order[0]]
	step := (predicted[order[len(order)-1]] - least) / float64(o.Bins)

	c := &Conformal{coverage: o.Coverage}
	var differences []float64 // of the current bin
	bin := 0
	for k, i := range order {
		last := len(order) - k
		for ; bin < o.Bins-1 && predicted[i] >= least+float64(bin+1)*step; bin++ {
			if len(differences) < o.MinCount || last < o.MinCount || o.rank(len(differences)) > len(differences) || o.rank(last) > last {
				continue // joined with the next
			}
			c.edges = append(c.edges, least+float64(bin+1)*step)
			c.widths = append(c.widths, o.quantile(differences))
			differences = differences[:0]
		}
		differences = append(differences, math.Abs(actual[i]-predicted[i]))
	}
	c.widths = append(c.widths, o.quantile(differences))
	return c, nil
}

func (o ConformalOptions) withDefaults() (ConformalOptions, error) {
	if o.Coverage == 0 {
		o.Coverage = 0.9
	}
	o.Bins, o.MinCount = cmp.Or(o.Bins, 5), cmp.Or(o.MinCount, 30)
	switch {
	case !(o.Coverage > 0 && o.Coverage < 1):
		return o, dataError("ConformalOptions.Coverage is %v; it must be above 0 and below 1", o.Coverage)
	case o.Bins < 1 || o.Bins > 1000:
		return o, dataError("ConformalOptions.Bins is %d; it must be 1 to 1000", o.Bins)
	case o.MinCount < 1:
		return o, dataError("ConformalOptions.MinCount is %d; it must be at least 1", o.MinCount)
	}
	return o, nil
}

// rank returns which of n differences, in ascending order from 1, covers enough. Above n, none does.
func (o ConformalOptions) rank(n int) int {
	return int(math.Ceil(o.Coverage*float64(n+1) - 1e-9)) // 0.9*10 is not above 9
}

// quantile sorts the differences.
func (o ConformalOptions) quantile(differences []float64) float64 {
	slices.Sort(differences)
	return differences[o.rank(len(differences))-1]
}

// Coverage returns the share of the actual values that the intervals were fitted to cover.
func (c *Conformal) Coverage() float64 { return c.coverage }

// Interval returns the interval around a prediction, in its unit. It is not limited to values that are possible: a remaining
// life may be below 0.
func (c *Conformal) Interval(predicted float64) (low, high float64) {
	if len(c.widths) == 0 {
		return math.NaN(), math.NaN()
	}
	bin := sort.Search(len(c.edges), func(k int) bool { return predicted < c.edges[k] })
	return predicted - c.widths[bin], predicted + c.widths[bin]
}

// MarshalBinary returns the intervals as bytes. The error is always nil.
func (c *Conformal) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindConformal, 1)
	e.float(c.coverage)
	e.floats(c.edges)
	e.floats(c.widths)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the intervals by those that MarshalBinary wrote; see [ErrModel].
func (c *Conformal) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindConformal, 1)
	read := Conformal{d.finite(), d.finites(1000), d.finites(1000)}
	if !(read.coverage > 0 && read.coverage < 1) || len(read.widths) != len(read.edges)+1 || !slices.IsSorted(read.edges) {
		d.fail("the intervals are not complete")
	}
	if slices.ContainsFunc(read.widths, func(w float64) bool { return w < 0 }) {
		d.fail("a width is negative")
	}
	if err := d.end(); err != nil {
		return err
	}
	*c = read
	return nil
}
