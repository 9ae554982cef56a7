package learn

import (
	"context"
	"math"
)

// Conditions are the operating conditions of a machine, such as its recipes or flight levels, and the mean and the deviation
// of each column in each, fitted by [FitConditions]. They are immutable and safe for concurrent use.
type Conditions struct {
	center, unit []float64   // mean and deviation of each setting; a unit of 0 means that it is not used
	clusters     [][]float64 // standardised settings of each condition
	means        [][]float64 // by condition and column
	deviations   [][]float64
}

// ConditionsOptions are the options of [FitConditions].
type ConditionsOptions struct {
	// Max is the largest number of conditions, up to 100. Default 10.
	Max int
	// Seed chooses the rows that the conditions are found from, and where the search begins.
	Seed uint64
}

const (
	conditionSample = 1000 // rows that the conditions are found from
	conditionRows   = 10   // of the sample, that a condition has at least
	strongStructure = 0.7
)

// FitConditions finds the operating conditions in which rows were measured and the mean and the standard deviation, divided by n-1, of
// each column of x in each. settings has the same rows and a column for each setting; nil, or settings that do not
// form separate groups, make one condition.
//
// The conditions are the clusters, by k-means++ on standardised settings, whose number has the largest silhouette. If that
// is below 0.7, the bound for strong structure of L. Kaufman and P. J. Rousseeuw, "Finding Groups in Data", 1990,
// there is one condition. Missing values are left out; infinite ones are an error.
func FitConditions(ctx context.Context, settings, x Matrix, options ConditionsOptions) (*Conditions, error) {
	rows, _, err := dims(x)
	if err != nil {
		return nil, err
	}
	if options.Max == 0 {
		options.Max = 10
	}
	if options.Max < 1 || options.Max > 100 {
		return nil, dataError("ConditionsOptions.Max is %d; it must be 1 to 100", options.Max)
	}
	c := &Conditions{clusters: [][]float64{nil}}
	if settings != nil {
		n, cols := settings.Dims()
		if n != rows {
			return nil, dataError("the settings have %d rows and the matrix %d; the numbers must be equal", n, rows)
		}
		c.center, c.unit = make([]float64, cols), make([]float64, cols)
		for j := range cols {
			if c.center[j], c.unit[j], err = meanAndDeviation(settings, j); err != nil {
				return nil, err
			}
		}
		if err := c.find(ctx, settings, options); err != nil {
			return nil, err
		}
	}
	return c, c.measure(ctx, settings, x)
}

// find sets the clusters.
func (c *Conditions) find(ctx context.Context, settings Matrix, o ConditionsOptions) error {
	rows, cols := settings.Dims()
	random := newRandom(o.Seed, 0)
	pick := sampler{random: random, need: min(rows, conditionSample), left: rows}
	var points [][]float64
	raw := make([]float64, cols)
	for i := range rows {
		if pick.next() {
			points = append(points, c.standardised(at(settings, i, raw)))
		}
	}
	c.clusters = [][]float64{make([]float64, cols)}
	largest := strongStructure
	for k := 2; k <= min(o.Max, len(points)/conditionRows); k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		centers, assigned := kMeans(points, k, random)
		if centers == nil {
			break
		}
		if s := silhouette(points, assigned, k); s > largest && leastCount(assigned, k) >= conditionRows {
			c.clusters, largest = centers, s
		}
	}
	return nil
}

func leastCount(assigned []int, k int) int {
	counts := make([]int, k)
	for _, c := range assigned {
		counts[c]++
	}
	least := len(assigned)
	for _, n := range counts {
		least = min(least, n)
	}
	return least
}

// at copies a row into dst and returns it.
func at(x Matrix, i int, dst []float64) []float64 {
	for j := range dst {
		dst[j] = x.At(i, j)
	}
	return dst
}

// standardised returns a point for settings. Settings that are missing or not used are 0, their mean.
func (c *Conditions) standardised(setting []float64) []float64 {
	p := make([]float64, len(c.center))
	for j := range p {
		p[j] = c.coordinate(setting, j)
	}
	return p
}

func (c *Conditions) coordinate(setting []float64, j int) float64 {
	if c.unit[j] == 0 || math.IsNaN(setting[j]) {
		return 0
	}
	return (setting[j] - c.center[j]) / c.unit[j]
}

// measure sets the means and deviations.
func (c *Conditions) measure(ctx context.Context, settings, x Matrix) error {
	rows, cols := x.Dims()
	c.means, c.deviations = make([][]float64, len(c.clusters)), make([][]float64, len(c.clusters))
	counts := make([][]float64, len(c.clusters))
	for k := range c.clusters {
		c.means[k], c.deviations[k], counts[k] = make([]float64, cols), make([]float64, cols), make([]float64, cols)
	}
	setting := make([]float64, len(c.center))
	for i := range rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k := 0
		if len(c.clusters) > 1 {
			k = c.Find(at(settings, i, setting))
		}
		mean, squares, count := c.means[k], c.deviations[k], counts[k]
		for j := range cols {
			v := x.At(i, j)
			if math.IsInf(v, 0) {
				return dataError("the matrix has %v in row %d, column %d", v, i, j)
			}
			if math.IsNaN(v) {
				continue
			}
			count[j]++
			d := v - mean[j]
			mean[j] += d / count[j]
			squares[j] += d * (v - mean[j])
		}
	}
	for k := range c.clusters {
		for j := range cols {
			d := math.Sqrt(c.deviations[k][j] / max(counts[k][j]-1, 1))
			if !finite(d) || !finite(c.means[k][j]) {
				return dataError("the values of column %d are too large", j)
			}
			if d <= 1e-12*math.Abs(c.means[k][j]) {
				d = 0 // what rounding leaves of equal values
			}
			c.deviations[k][j] = d
		}
	}
	return nil
}

// Count returns the number of conditions, at least 1.
func (c *Conditions) Count() int { return len(c.clusters) }

// Find returns the index of the condition that is nearest to settings, from 0. Missing settings count as their mean. If the number
// of settings is not that of the fit, Find returns 0. It does not allocate.
func (c *Conditions) Find(setting []float64) int {
	if len(c.clusters) == 1 || len(setting) != len(c.center) {
		return 0
	}
	best, least := 0, math.Inf(1)
	for k, cluster := range c.clusters {
		sum := 0.0
		for j := range setting {
			d := c.coordinate(setting, j) - cluster[j]
			sum += d * d
		}
		if sum < least {
			best, least = k, sum
		}
	}
	return best
}

// Scale returns the mean and the standard deviation of each column in a condition, 0 <= condition < [Conditions.Count], in the units
// of the columns. The slices must not be changed.
func (c *Conditions) Scale(condition int) (means, deviations []float64) {
	return c.means[condition], c.deviations[condition]
}

// Normalise returns, in dst if that has room, how many deviations each value of a row is above the mean of its column in a
// condition, 0 <= condition < [Conditions.Count]. It is 0 where the column had no deviation, and NaN where the value is. dst
// may be row. For a row of the wrong length it returns nil.
func (c *Conditions) Normalise(condition int, row, dst []float64) []float64 {
	means, deviations := c.Scale(condition)
	if len(row) != len(means) {
		return nil
	}
	dst = sized(dst, len(row))
	for j, v := range row {
		switch {
		case math.IsNaN(v):
			dst[j] = v
		case deviations[j] == 0:
			dst[j] = 0
		default:
			dst[j] = (v - means[j]) / deviations[j]
		}
	}
	return dst
}

// MarshalBinary returns the conditions as bytes. The error is always nil.
func (c *Conditions) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindConditions, 1)
	e.floats(c.center)
	e.floats(c.unit)
	e.count(len(c.clusters))
	for k := range c.clusters {
		e.floats(c.clusters[k])
		e.floats(c.means[k])
		e.floats(c.deviations[k])
	}
	return e.bytes(), nil
}

// UnmarshalBinary replaces the conditions by those that MarshalBinary wrote; see [ErrModel].
func (c *Conditions) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindConditions, 1)
	read := Conditions{center: d.finites(maxColumns), unit: d.finites(maxColumns)}
	n := d.count(100, 3)
	for k := range n {
		read.clusters = append(read.clusters, d.finites(maxColumns))
		read.means = append(read.means, d.finites(maxColumns))
		read.deviations = append(read.deviations, d.finites(maxColumns))
		if len(read.clusters[k]) != len(read.center) || len(read.means[k]) != len(read.means[0]) || len(read.deviations[k]) != len(read.means[0]) {
			d.fail("the lengths of condition %d do not fit", k)
		}
	}
	if n == 0 || len(read.unit) != len(read.center) || len(read.means[0]) == 0 {
		d.fail("the conditions are not complete")
	}
	if err := d.end(); err != nil {
		return err
	}
	*c = read
	return nil
}
