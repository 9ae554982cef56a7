package learn

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
)

// BoostOptions are the options of [FitRegression] and [FitClassifier]. The zero value is right for most data.
type BoostOptions struct {
	// Trees is the number of trees, up to 10,000. Default 200.
	Trees int
	// LearningRate is the share of each tree's output that is used, up to 1. Default 0.1.
	LearningRate float64
	// MaxDepth is the largest number of divisions above a leaf, up to 16. Default 5.
	MaxDepth int
	// MinLeaf is the least number of rows of a leaf. Default 10.
	MinLeaf int
	// L2 is the penalty on the squared outputs of leaves, in units of a row's second derivative. Default 1.
	L2 float64
	// RowFraction is the share of the rows that each tree sees, up to 1. Default 0.7.
	RowFraction float64
	// ColumnFraction is the share of the columns that each tree may use, up to 1, but at least 10 of them where there are as
	// many: of few columns, each one misses. Default 0.5.
	ColumnFraction float64
	// Bins is the number of parts that the values of a column are divided into, 2 to 255. Default 255.
	Bins int
	// Seed chooses the rows and columns of each tree.
	Seed uint64
	// Weights are the weights of the rows, finite and not negative. Default 1 for each.
	Weights []float64
	// OverWeight multiplies the weight of a row while its prediction exceeds its label, in regression only. Above 1, predictions
	// are on the low side, so that a remaining life is seldom promised that is not there. Default 1.
	OverWeight float64
	// Workers is the number of goroutines that fit. It does not change the model. Default GOMAXPROCS.
	Workers int
	// Progress, unless nil, is called after each tree with the number of trees so far.
	Progress func(done, total int)
}

// withDefaults returns the options with the defaults for zero values, or an error for a value out of its range.
func (o BoostOptions) withDefaults(rows int) (BoostOptions, error) {
	for _, f := range []struct {
		name                    string
		value                   *int
		standard, least, atMost int
	}{
		{"Trees", &o.Trees, 200, 1, maxTrees},
		{"MaxDepth", &o.MaxDepth, 5, 1, maxDepth},
		{"MinLeaf", &o.MinLeaf, 10, 1, math.MaxInt32},
		{"Bins", &o.Bins, maxBins, 2, maxBins},
		{"Workers", &o.Workers, runtime.GOMAXPROCS(0), 1, math.MaxInt32},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if *f.value < f.least || *f.value > f.atMost {
			return o, dataError("BoostOptions.%s is %d; it must be %d to %d", f.name, *f.value, f.least, f.atMost)
		}
	}
	for _, f := range []struct {
		name             string
		value            *float64
		standard, atMost float64
	}{
		{"LearningRate", &o.LearningRate, 0.1, 1},
		{"L2", &o.L2, 1, math.MaxFloat64},
		{"RowFraction", &o.RowFraction, 0.7, 1},
		{"ColumnFraction", &o.ColumnFraction, 0.5, 1},
		{"OverWeight", &o.OverWeight, 1, 1000},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if !(*f.value > 0 && *f.value <= f.atMost) {
			return o, dataError("BoostOptions.%s is %v; it must be above 0, up to %v", f.name, *f.value, f.atMost)
		}
	}
	return o, checkWeights(o.Weights, rows)
}

// largestLabel is small enough that outputs of leaves, in 32 bits, stay finite.
const largestLabel = 1e36

// FitRegression fits trees that predict y, one value per row of x, from -1e36 to 1e36, with the least squared error. Missing values of x go the
// way, at each division, that reduces the error most; infinite ones are the lowest or the highest.
//
// Fitting takes at least 2*MinLeaf rows, up to 2^31-1, and up to 65,535 columns. Beside x and y it needs a byte per cell, about
// 30 bytes per row, and 24 bytes per column and bin for each level of a tree. The same data, options and seed give the same model.
// When ctx is done, it returns the error of ctx.
func FitRegression(ctx context.Context, x Matrix, y []float64, options BoostOptions) (*Boost, error) {
	rows, _, err := dims(x)
	if err != nil {
		return nil, err
	}
	if err := sameLength(len(y), rows, "labels", "rows"); err != nil {
		return nil, err
	}
	for i, v := range y {
		if !(math.Abs(v) <= largestLabel) {
			return nil, dataError("y[%d] is %v; it must be finite and from %v to %v", i, v, -largestLabel, largestLabel)
		}
	}
	if options, err = options.withDefaults(rows); err != nil {
		return nil, err
	}
	var mean, weights float64
	for i, v := range y {
		weights += options.weight(i)
		mean += options.weight(i) / weights * (v - mean)
	}
	return fit(ctx, x, options, &Boost{bias: mean}, func(i int, score float64) (g, h float64) {
		w := options.weight(i)
		if score > y[i] {
			w *= options.OverWeight
		}
		return w * (score - y[i]), w
	})
}

// FitClassifier fits trees that predict the probability of an event with the least logarithmic loss. positive reports, for
// each row of x, whether it happened; both cases are needed. Else it is as [FitRegression].
func FitClassifier(ctx context.Context, x Matrix, positive []bool, options BoostOptions) (*Boost, error) {
	rows, _, err := dims(x)
	if err != nil {
		return nil, err
	}
	if err := sameLength(len(positive), rows, "labels", "rows"); err != nil {
		return nil, err
	}
	if options, err = options.withDefaults(rows); err != nil {
		return nil, err
	}
	var events, others float64 // by weight
	for i, yes := range positive {
		if yes {
			events += options.weight(i)
		} else {
			others += options.weight(i)
		}
	}
	if events == 0 || others == 0 {
		return nil, dataError("the weight of rows with the event is %v and of those without %v; both are needed", events, others)
	}
	return fit(ctx, x, options, &Boost{logistic: true, bias: math.Log(events / others)}, func(i int, score float64) (g, h float64) {
		p, w := sigmoid(score), options.weight(i)
		if positive[i] {
			return w * (p - 1), w * p * (1 - p)
		}
		return w * p, w * p * (1 - p)
	})
}

func (o *BoostOptions) weight(i int) float64 { return weightOf(o.Weights, i) }

// fit adds trees to a model. loss returns the derivatives of the loss of a row at a score.
func fit(ctx context.Context, x Matrix, o BoostOptions, model *Boost, loss func(row int, score float64) (g, h float64)) (*Boost, error) {
	rows, cols := x.Dims()
	if cols > maxColumns || rows > math.MaxInt32 {
		return nil, dataError("the matrix has %d rows and %d columns; at most %d and %d can be used", rows, cols, math.MaxInt32, maxColumns)
	}
	if rows < 2*o.MinLeaf {
		return nil, dataError("%d rows; at least %d are needed for leaves of %d", rows, 2*o.MinLeaf, o.MinLeaf)
	}
	if !finite(model.bias) {
		return nil, dataError("the weights of rows with and without the event differ too much")
	}
	data, err := binColumns(ctx, x, o.Bins, o.Workers, o.Seed)
	if err != nil {
		return nil, err
	}
	model.columns, model.gains, model.base = cols, make([]float64, cols), model.bias
	usable := make([]int, 0, cols)
	for j := range data {
		if data[j].bins != nil {
			usable = append(usable, j)
		}
	}
	sample := max(int(math.Round(o.RowFraction*float64(rows))), min(rows, 2*o.MinLeaf))
	trees := grower{
		options: o, data: data, gains: model.gains,
		grad: make([]gradient, rows), rows: make([]int32, 0, sample), scratch: make([]int32, 0, sample),
	}
	scores := make([]float64, rows)
	for i := range scores {
		scores[i] = model.bias
	}
	random := newRandom(o.Seed, 0)
	for k := range o.Trees {
		if len(usable) == 0 || !trees.differentiate(scores, loss) {
			break // nothing to learn from, or nothing left to learn
		}
		trees.draw(usable, random)
		nodes, err := trees.grow(ctx)
		if err != nil {
			return nil, err
		}
		if err := trees.apply(ctx, scores); err != nil {
			return nil, err
		}
		model.trees = append(model.trees, slices.Clone(nodes))
		model.base += float64(nodes[0].value)
		if o.Progress != nil {
			o.Progress(k+1, o.Trees)
		}
	}
	normalise(model.gains)
	return model, nil
}

// differentiate computes the gradients of all rows, as multiples of the largest divided by 2^30. It reports whether one is not 0.
func (t *grower) differentiate(scores []float64, loss func(row int, score float64) (g, h float64)) bool {
	const unit = 1 << 30
	var largestG, largestH float64
	for i, s := range scores {
		g, h := loss(i, s)
		largestG, largestH = max(largestG, math.Abs(g)), max(largestH, h)
	}
	t.scale = scale{largestG / unit, largestH / unit}
	if !(t.scale.g > 0 && t.scale.h > 0) || math.IsInf(largestG, 0) {
		return false
	}
	for i, s := range scores {
		g, h := loss(i, s)
		t.grad[i] = gradient{int32(math.RoundToEven(g / t.scale.g)), int32(math.RoundToEven(h / t.scale.h))}
	}
	return true
}

// draw chooses the rows and the columns of the next tree.
func (t *grower) draw(usable []int, random *rand.PCG) {
	const least = 10
	n := max(int(math.Round(t.options.ColumnFraction*float64(len(usable)))), min(least, len(usable)))
	pick := sampler{random: random, need: n, left: len(usable)}
	t.columns = t.columns[:0]
	for _, j := range usable {
		if pick.next() {
			t.columns = append(t.columns, j)
		}
	}
	if t.splits == nil {
		t.splits = make([]split, 2*n)
	}
	pick = sampler{random: random, need: cap(t.rows), left: len(t.grad)}
	t.rows = t.rows[:0]
	for i := range t.grad {
		if pick.next() {
			t.rows = append(t.rows, int32(i))
		}
	}
}

// normalise divides a list by its sum unless that is 0.
func normalise(list []float64) {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	if sum > 0 {
		for i := range list {
			list[i] /= sum
		}
	}
}
