package learn

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// PCAOptions are the options of [FitPCA]. The zero value has the defaults, which suit all data.
type PCAOptions struct {
	// Smoothing is the weight of a new row in the smoothed values, above 0 and at most 1; 0 means 0.1.
	Smoothing float64
	// Variance is the share of the variance that the components explain, above 0 and below 1; 0 means 0.98.
	Variance float64
	// Quantile is the share of normal rows below the limits, from 0.9 to below 1; 0 means 0.9999.
	Quantile float64
}

const (
	defaultSmoothing = 0.1
	defaultVariance  = 0.98
	defaultQuantile  = 0.9999

	// tailStart is the quantile above which a tail is taken to be exponential.
	tailStart = 0.9

	pcaBlocks     = 5
	pcaMinRows    = 50
	maxPCAColumns = 1024
	// maxZ limits standardised values, so that their squares stay finite.
	maxZ = 1e6
)

// PCA knows how the columns of normal data move together. A row of new data is judged by two figures: Hotelling's T², its
// distance from the mean within the directions in which normal data vary, and Q, its squared distance from those directions.
//
// Rows are in the order of time. Each column is centred on its median and divided by its median absolute deviation, scaled to the
// standard deviation of a normal distribution, and then smoothed exponentially. A value that is missing or infinite
// leaves the smoothed one as it is. A column that is constant in the training data has no scale and is not judged.
//
// The limits are quantiles of T² and Q of rows that are held out: five blocks of time are judged by components of the other four.
// They are extrapolated by an exponential tail. Limits of theory, or of the rows that were fitted, are much too low for plant
// data, whose rows depend on those before.
//
// Sources: J. E. Jackson and G. S. Mudholkar, "Control procedures for residuals associated with principal component analysis",
// Technometrics 21, 1979, for T² and Q; H. H. Yue and S. J. Qin, "Reconstruction-based fault identification using a combined
// index", Industrial & Engineering Chemistry Research 40, 2001, for their sum; C. F. Alcala and S. J. Qin, "Reconstruction-based
// contribution for process monitoring", Automatica 45, 2009, for the contributions; J. Pickands, "Statistical inference using extreme
// order statistics", Annals of Statistics 3, 1975, for the tail.
type PCA struct {
	smoothing float64
	center    []float64 // medians
	scale     []float64 // 0 for a constant column
	mean      []float64 // of the smoothed values

	space  subspace
	limits pcaLimits
	root   []float64 // square root of the matrix of the index, by rows
}

// subspace has the components that explain most of the variance.
type subspace struct {
	components []float64 // one row of columns for each
	variances  []float64
}

// pcaLimits are what T², Q and the index of normal rows stay below.
type pcaLimits struct{ t2, q, index float64 }

// FitPCA returns what is normal in x, which has one row for each time, at least 50, and should have no faults. At least two columns
// must vary. Time is proportional to rows and to the square of columns. Memory beyond x is about 50 bytes for each row.
func FitPCA(ctx context.Context, x Matrix, options PCAOptions) (*PCA, error) {
	options.Smoothing = cmp.Or(options.Smoothing, defaultSmoothing)
	options.Variance = cmp.Or(options.Variance, defaultVariance)
	options.Quantile = cmp.Or(options.Quantile, defaultQuantile)
	rows, cols, err := dims(x)
	if err != nil {
		return nil, err
	}
	switch {
	case !(options.Smoothing > 0 && options.Smoothing <= 1):
		return nil, dataError("PCAOptions.Smoothing is %v; it must be above 0 and at most 1", options.Smoothing)
	case !(options.Variance > 0 && options.Variance < 1):
		return nil, dataError("PCAOptions.Variance is %v; it must be above 0 and below 1", options.Variance)
	case !(options.Quantile >= tailStart && options.Quantile < 1):
		return nil, dataError("PCAOptions.Quantile is %v; it must be from 0.9 to below 1", options.Quantile)
	case rows < max(pcaMinRows, 2*cols):
		return nil, dataError("%d rows; %d columns need %d", rows, cols, max(pcaMinRows, 2*cols))
	case cols > maxPCAColumns:
		return nil, dataError("%d columns; at most %d are possible", cols, maxPCAColumns)
	}

	p := &PCA{smoothing: options.Smoothing}
	if p.center, p.scale, err = robustScale(ctx, x); err != nil {
		return nil, err
	}
	if varying := cols - len(p.Constant()); varying < 2 {
		return nil, dataError("%d of %d columns vary; 2 are needed", varying, cols)
	}
	blocks, err := p.sumBlocks(ctx, x)
	if err != nil {
		return nil, err
	}
	all := newSums(cols)
	for _, b := range blocks {
		all.add(b, 1)
	}
	p.mean = all.mean()
	if p.space, err = all.subspace(options.Variance); err != nil {
		return nil, err
	}
	if err := p.findLimits(ctx, x, all, blocks, options); err != nil {
		return nil, err
	}
	p.findRoot()
	return p, nil
}

// Columns returns the number of columns of a row.
func (p *PCA) Columns() int { return len(p.center) }

// Components returns the number of components.
func (p *PCA) Components() int { return len(p.space.variances) }

// Limits returns what T² and Q of normal rows stay below.
func (p *PCA) Limits() (t2, q float64) { return p.limits.t2, p.limits.q }

// Constant returns the columns, from 0, that are not judged because they were constant or empty in the training data.
func (p *PCA) Constant() []int {
	var list []int
	for j, s := range p.scale {
		if s == 0 {
			list = append(list, j)
		}
	}
	return list
}

// blockOf returns the rows of a block of time.
func blockOf(block, rows int) (from, to int) {
	return rows * block / pcaBlocks, rows * (block + 1) / pcaBlocks
}

// robustScale returns the median and the scaled median absolute deviation of the finite values of each column. Where more than half
// are equal, the standard deviation takes the place of the latter.
func robustScale(ctx context.Context, x Matrix) (center, scale []float64, err error) {
	rows, cols := x.Dims()
	center, scale = make([]float64, cols), make([]float64, cols)
	values := make([]float64, 0, rows)
	for j := range cols {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		values = values[:0]
		for i := range rows {
			if v := x.At(i, j); math.Abs(v) <= maxValue {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			continue
		}
		center[j] = medianOf(values)
		var squares float64
		for i, v := range values {
			squares += (v - center[j]) * (v - center[j]) / float64(len(values))
			values[i] = math.Abs(v - center[j])
		}
		const normal = 1.482602218505602 // 1 / quantile of the normal distribution at 0.75
		smallest := 1e-9 * math.Abs(center[j])
		if scale[j] = normal * medianOf(values); scale[j] <= smallest {
			scale[j] = math.Sqrt(squares)
		}
		if scale[j] <= smallest {
			scale[j] = 0
		}
	}
	return center, scale, nil
}

// medianOf returns the median of values, which it sorts.
func medianOf(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return values[(n-1)/2] + (values[n/2]-values[(n-1)/2])/2
}

// smooth adds a row to the smoothed values in state.
func (p *PCA) smooth(state []float64, at func(j int) float64) {
	for j, scale := range p.scale {
		v := at(j)
		if scale == 0 || !finite(v) {
			continue
		}
		z := min(max((v-p.center[j])/scale, -maxZ), maxZ)
		state[j] += p.smoothing * (z - state[j])
	}
}

// eachRow calls f with the smoothed values of each row of a block of time.
func (p *PCA) eachRow(x Matrix, block int, state []float64, f func(z []float64)) {
	rows, _ := x.Dims()
	from, to := blockOf(block, rows)
	for i := from; i < to; i++ {
		p.smooth(state, func(j int) float64 { return x.At(i, j) })
		f(state)
	}
}

func (p *PCA) sumBlocks(ctx context.Context, x Matrix) ([]*sums, error) {
	state := make([]float64, p.Columns())
	blocks := make([]*sums, pcaBlocks)
	for b := range blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		blocks[b] = newSums(p.Columns())
		p.eachRow(x, b, state, blocks[b].addRow)
	}
	return blocks, nil
}

// findLimits judges each block of time by the others.
func (p *PCA) findLimits(ctx context.Context, x Matrix, all *sums, blocks []*sums, options PCAOptions) error {
	rows, cols := x.Dims()
	t2s, qs := make([]float64, 0, rows), make([]float64, 0, rows)
	state, centred := make([]float64, cols), make([]float64, cols)
	for b, own := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest := newSums(cols)
		rest.add(all, 1)
		rest.add(own, -1)
		mean := rest.mean()
		space, err := rest.subspace(options.Variance)
		if err != nil {
			return err
		}
		p.eachRow(x, b, state, func(z []float64) {
			for j := range z {
				centred[j] = z[j] - mean[j]
			}
			t2, q := space.figures(centred)
			t2s, qs = append(t2s, t2), append(qs, q)
		})
	}
	index := make([]float64, rows)
	// A limit of 0 would make rounding an anomaly.
	p.limits.t2 = max(tailQuantile(slices.Clone(t2s), options.Quantile), 1e-9)
	p.limits.q = max(tailQuantile(slices.Clone(qs), options.Quantile), 1e-9)
	for i := range index {
		index[i] = t2s[i]/p.limits.t2 + qs[i]/p.limits.q
	}
	p.limits.index = max(tailQuantile(index, options.Quantile), 1e-9)
	return nil
}

// tailQuantile returns the value that a share q of values, at least tailStart, is expected to stay below. It sorts values. What is above their
// quantile tailStart is taken to be exponential, so the result may be above all.
func tailQuantile(values []float64, q float64) float64 {
	slices.Sort(values)
	n := len(values)
	start := int(math.Ceil(tailStart * float64(n)))
	u := values[start-1]
	var excess float64
	for _, v := range values[start:] {
		excess += (v - u) / float64(n-start)
	}
	return u + excess*math.Log((1-tailStart)/(1-q))
}

// figures returns T² and Q of a row from which the mean is subtracted.
func (s *subspace) figures(row []float64) (t2, q float64) {
	var within float64
	for _, v := range row {
		q += v * v
	}
	for c, variance := range s.variances {
		var t float64
		for j, w := range s.components[c*len(row) : (c+1)*len(row)] {
			t += w * row[j]
		}
		within += t * t
		t2 += t * t / variance
	}
	return t2, max(q-within, 0)
}

// findRoot computes the symmetric square root of the matrix M for which the index of a row z is zᵀMz.
func (p *PCA) findRoot() {
	cols := p.Columns()
	p.root = make([]float64, cols*cols)
	outside := 1 / math.Sqrt(p.limits.q*p.limits.index)
	for j := range cols {
		p.root[j*cols+j] = outside
	}
	for c, variance := range p.space.variances {
		w := p.space.components[c*cols : (c+1)*cols]
		f := 1/math.Sqrt(variance*p.limits.t2*p.limits.index) - outside
		for i := range cols {
			for j := range cols {
				p.root[i*cols+j] += f * w[i] * w[j]
			}
		}
	}
}

// sums has what the mean and the covariance of rows follow from.
type sums struct {
	count   float64
	first   []float64
	product []float64 // by rows, the upper triangle only
}

func newSums(cols int) *sums {
	return &sums{first: make([]float64, cols), product: make([]float64, cols*cols)}
}

func (s *sums) addRow(z []float64) {
	s.count++
	for i, v := range z {
		s.first[i] += v
		for j := i; j < len(z); j++ {
			s.product[i*len(z)+j] += v * z[j]
		}
	}
}

func (s *sums) add(t *sums, sign float64) {
	s.count += sign * t.count
	for i, v := range t.first {
		s.first[i] += sign * v
	}
	for i, v := range t.product {
		s.product[i] += sign * v
	}
}

func (s *sums) mean() []float64 {
	list := make([]float64, len(s.first))
	for i, v := range s.first {
		list[i] = v / s.count
	}
	return list
}

// subspace returns the fewest components that explain a share of the variance, and at least one fewer than there are.
func (s *sums) subspace(share float64) (subspace, error) {
	cols := len(s.first)
	covariance := mat.NewSymDense(cols, nil)
	for i := range cols {
		for j := i; j < cols; j++ {
			covariance.SetSym(i, j, (s.product[i*cols+j]-s.first[i]*s.first[j]/s.count)/(s.count-1))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return subspace{}, dataError("the covariance has no components")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	order := make([]int, cols)
	var total float64
	for i, v := range values {
		order[i] = i
		total += max(v, 0)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })

	var space subspace
	var explained float64
	for _, c := range order[:cols-1] {
		space.variances = append(space.variances, max(values[c], 1e-9*total, 1e-12))
		space.components = append(space.components, mat.Col(nil, c, &vectors)...)
		if explained += values[c]; explained >= share*total {
			break
		}
	}
	return space, nil
}
