package learn

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	missingBin = 0
	maxBins    = 255    // that a byte can count beside missingBin
	binSample  = 200000 // rows of a column that its bins are computed from
)

// binned is a column of a matrix with a byte per row. Bin 0 has missing values; bin b > 0 has values v with
// edges[b-2] < v <= edges[b-1]; the last bin is open above. A column that cannot be split has no bins.
type binned struct {
	bins    []uint8
	edges   []float64
	missing int // rows without a value
}

// count returns the number of bins, that of missing values included.
func (c *binned) count() int { return len(c.edges) + 2 }

// threshold returns the value up to which bin b and those before it reach.
func (c *binned) threshold(b int) float64 {
	if b-1 < len(c.edges) {
		return c.edges[b-1]
	}
	return math.Inf(1)
}

// binColumns divides the values of each column into at most limit bins with about as many rows each.
func binColumns(ctx context.Context, x Matrix, limit, workers int, seed uint64) ([]binned, error) {
	rows, cols := x.Dims()
	columns := make([]binned, cols)
	workers = min(workers, 1+cols/16) // each has 8 bytes per row, which is to stay small beside the bins
	scratch := make([][]float64, workers)
	err := parallel(ctx, cols, workers, func(worker, j int) {
		if scratch[worker] == nil {
			scratch[worker] = make([]float64, 0, min(rows, binSample))
		}
		columns[j] = binColumn(x, j, limit, scratch[worker], newRandom(seed, 1+uint64(j)))
	})
	return columns, err
}

func binColumn(x Matrix, j, limit int, values []float64, random *rand.PCG) binned {
	rows, _ := x.Dims()
	var c binned
	pick := sampler{random: random, need: min(rows, binSample), left: rows}
	for i := range rows {
		if v := x.At(i, j); math.IsNaN(v) {
			pick.next()
			c.missing++
		} else if pick.next() {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	c.edges = quantileEdges(values, limit)
	if len(c.edges) == 0 && (c.missing == 0 || c.missing == rows) {
		return binned{}
	}
	c.bins = make([]uint8, rows)
	for i := range c.bins {
		if v := x.At(i, j); !math.IsNaN(v) {
			k, _ := slices.BinarySearch(c.edges, v)
			c.bins[i] = uint8(k + 1)
		}
	}
	return c
}

// quantileEdges returns the upper edges of all bins but the last. A value with more rows than fit has a bin of its own, so
// that the others keep their share of the bins.
func quantileEdges(sorted []float64, limit int) (edges []float64) {
	left := len(sorted)
	for start := 0; len(edges) < limit-1 && left > 0; {
		target := left / (limit - len(edges))
		end := start
		for end < len(sorted) && end-start < max(target, 1) {
			next := upperBound(sorted, end)
			if end > start && next-end > target {
				break // a frequent value begins a bin
			}
			end = next
		}
		if end == len(sorted) {
			break
		}
		edges = append(edges, between(sorted[end-1], sorted[end]))
		left -= end - start
		start = end
	}
	return edges
}

// upperBound returns the index behind the values that equal sorted[i].
func upperBound(sorted []float64, i int) int {
	k, _ := slices.BinarySearchFunc(sorted[i:], sorted[i], func(v, target float64) int {
		if v <= target {
			return -1
		}
		return 1
	})
	return i + k
}

// between returns a value v with low <= v < high, the middle if there is one.
func between(low, high float64) float64 {
	if middle := low + (high-low)/2; low <= middle && middle < high {
		return middle
	}
	return low
}
