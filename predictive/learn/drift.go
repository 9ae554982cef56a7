package learn

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
)

const (
	defaultHistogramBins = 10
	maxHistogramBins     = 1000
)

// Histogram has the distribution of a feature in training data. It is immutable and safe for concurrent use.
type Histogram struct {
	edges  []float64 // upper ends of all bins but the last
	counts []float64 // by bin; the last are missing values
}

// Drift is how far values are from a [Histogram].
type Drift struct {
	// PSI is the population stability index: 0 for equal distributions. Below 0.1, they are usually taken as equal, and
	// above 0.25 as different. Chance alone makes about (bins-1)*(1/n+1/m) of n training values and m new ones.
	PSI float64
	// KS is the Kolmogorov-Smirnov distance: the largest difference of the shares of values up to an edge of the histogram,
	// from 0 to 1. It does not exceed the distance of the values themselves.
	KS float64
	// Missing is the share of missing values, from 0 to 1.
	Missing float64
}

// NewHistogram returns the distribution of values in bins that have about the same number of them, 2 to 1000; 0 means 10. There are
// fewer bins where values repeat. NaN is a missing value and has a bin of its own. At least one value must not be missing.
func NewHistogram(values []float64, bins int) (*Histogram, error) {
	if bins = cmp.Or(bins, defaultHistogramBins); bins < 2 || bins > maxHistogramBins {
		return nil, dataError("%d bins; 2 to %d are possible", bins, maxHistogramBins)
	}
	sorted := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			sorted = append(sorted, v)
		}
	}
	if len(sorted) == 0 {
		return nil, dataError("none of %d values is a number", len(values))
	}
	slices.Sort(sorted)
	var edges []float64
	for i := 1; i < bins; i++ {
		edges = append(edges, sorted[(len(sorted)*i-1)/bins])
	}
	edges = slices.Compact(edges)
	// Else lower values would be in the bin of the lowest.
	if edges[0] == sorted[0] && !math.IsInf(edges[0], -1) {
		edges = slices.Insert(edges, 0, math.Nextafter(edges[0], math.Inf(-1)))
	}
	h := &Histogram{edges: edges}
	h.counts = h.count(values)
	return h, nil
}

// Bins returns the number of bins, that of missing values not counted.
func (h *Histogram) Bins() int { return len(h.edges) + 1 }

// Compare returns how far the distribution of values is from that of the training data. Without values, it returns an error
// that wraps [ErrData].
//
// Sources: N. Siddiqi, "Credit Risk Scorecards", 2006, for the population stability index, here with half a value added to each bin;
// A. Kolmogorov, "Sulla determinazione empirica di una legge di distribuzione", 1933, and N. Smirnov, "Table for estimating the
// goodness of fit of empirical distributions", Annals of Mathematical Statistics 19, 1948.
func (h *Histogram) Compare(values []float64) (Drift, error) {
	if len(h.counts) == 0 {
		return Drift{}, dataError("the histogram is empty")
	}
	if len(values) == 0 {
		return Drift{}, dataError("no values")
	}
	counts := h.count(values)
	n, m := floats.Sum(h.counts), floats.Sum(counts)
	var d Drift
	for i, before := range h.counts {
		before = (before + 0.5) / (n + 0.5*float64(len(counts)))
		after := (counts[i] + 0.5) / (m + 0.5*float64(len(counts)))
		d.PSI += (after - before) * math.Log(after/before)
	}
	last := len(counts) - 1
	d.Missing = counts[last] / m
	n, m = n-h.counts[last], m-counts[last]
	if m == 0 {
		return d, nil
	}
	var before, after float64
	for i := range h.edges {
		before += h.counts[i]
		after += counts[i]
		d.KS = max(d.KS, math.Abs(before/n-after/m))
	}
	return d, nil
}

// count returns the number of values in each bin.
func (h *Histogram) count(values []float64) []float64 {
	counts := make([]float64, len(h.edges)+2)
	for _, v := range values {
		i := len(counts) - 1
		if !math.IsNaN(v) {
			i = sort.SearchFloat64s(h.edges, v)
		}
		counts[i]++
	}
	return counts
}

// MarshalBinary returns the histogram as bytes, 16 for each bin. The error is always nil.
func (h *Histogram) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindHistogram, 1)
	e.floats(h.edges)
	e.floats(h.counts)
	return e.bytes(), nil
}

// UnmarshalBinary replaces the histogram by one that MarshalBinary wrote; see [ErrModel].
func (h *Histogram) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindHistogram, 1)
	read := Histogram{edges: make([]float64, d.count(maxHistogramBins, 8))}
	for i := range read.edges {
		read.edges[i] = d.float()
		if i > 0 && read.edges[i] <= read.edges[i-1] {
			d.fail("an edge is not above the one before")
		}
	}
	read.counts = d.finites(maxHistogramBins + 2)
	if len(read.edges) == 0 || len(read.counts) != len(read.edges)+2 {
		d.fail("the histogram has %d edges and %d counts", len(read.edges), len(read.counts))
	}
	for _, c := range read.counts {
		if c < 0 {
			d.fail("a count is %v", c)
		}
	}
	if d.err == nil && !(floats.Sum(read.counts[:len(read.counts)-1]) > 0) {
		d.fail("the histogram is empty")
	}
	if err := d.end(); err != nil {
		return err
	}
	*h = read
	return nil
}
