package learn

import (
	"context"
	"math"
)

// node is a node of a tree. The nodes of a tree are in preorder, so that the left child follows its parent.
type node struct {
	threshold   float64 // values <= threshold go left
	value       float32 // what a leaf adds to the prediction; otherwise the mean of the rows below
	right       int32   // index of the right child; 0 for a leaf
	column      uint16
	missingLeft bool // where NaN goes
}

func (n *node) leaf() bool { return n.right == 0 }

// left reports whether a value goes to the left child.
func (n *node) left(v float64) bool {
	return v <= n.threshold || n.missingLeft && math.IsNaN(v)
}

// gradient has the first and second derivative of the loss of a row, in units of [scale]. Whole numbers have sums that do
// not depend on their order, and differences without cancellation.
type gradient struct{ g, h int32 }

// sum is the total of some gradients.
type sum struct {
	g, h  int64
	count int64
}

func (s sum) minus(t sum) sum { return sum{s.g - t.g, s.h - t.h, s.count - t.count} }

// scale has the values of one unit of the parts of a [gradient].
type scale struct{ g, h float64 }

// weight returns the Newton step that minimises the loss, without the learning rate, and how much it reduces the loss, twice.
func (s scale) weight(t sum, l2 float64) (step, gain float64) {
	g, h := float64(t.g)*s.g, float64(t.h)*s.h
	if h+l2 <= 0 {
		return 0, 0
	}
	return -g / (h + l2), g * g / (h + l2)
}

// split is the best division of a node by one column.
type split struct {
	gain        float64
	column, bin int // bins up to bin go left
	missingLeft bool
	left        sum
}

// grower grows one tree after the other, depth first, so that it needs only one histogram per level.
type grower struct {
	options BoostOptions
	data    []binned
	rows    []int32    // of the sample; those of a node are next to each other
	scratch []int32    // for partition
	grad    []gradient // by row
	scale   scale
	columns []int   // that this tree may use, ascending
	splits  []split // by index in columns; two per column
	free    [][]sum // histograms that are not in use

	nodes []node
	cuts  []uint8 // by node: the bin of its threshold
	gains []float64
}

// branch is a node that is to be divided.
type branch struct {
	rows  []int32
	total sum
	hist  []sum // by index in columns and bin; nil for a leaf
	best  split
}

// grow returns the nodes of a tree for rows. They are valid until the next call.
func (t *grower) grow(ctx context.Context) ([]node, error) {
	t.nodes, t.cuts = t.nodes[:0], t.cuts[:0]
	root := branch{rows: t.rows}
	for _, i := range t.rows {
		root.total = sum{root.total.g + int64(t.grad[i].g), root.total.h + int64(t.grad[i].h), root.total.count + 1}
	}
	root.hist = t.histogram()
	if err := t.search(ctx, &root, nil); err != nil {
		return nil, err
	}
	if _, err := t.divide(ctx, root, t.options.MaxDepth); err != nil {
		return nil, err
	}
	return t.nodes, nil
}

// divide appends the nodes of a branch and returns the sum of the outputs of its rows.
func (t *grower) divide(ctx context.Context, b branch, depth int) (float64, error) {
	at := len(t.nodes)
	t.nodes, t.cuts = append(t.nodes, node{}), append(t.cuts, 0)
	if b.best.gain <= 0 {
		t.release(b.hist)
		step, _ := t.scale.weight(b.total, t.options.L2)
		t.nodes[at].value = float32(step * t.options.LearningRate)
		return float64(t.nodes[at].value) * float64(b.total.count), nil
	}
	left, right, err := t.children(ctx, b, depth-1)
	if err != nil {
		return 0, err
	}
	outputs, err := t.divide(ctx, left, depth-1)
	if err != nil {
		return 0, err
	}
	next := len(t.nodes)
	more, err := t.divide(ctx, right, depth-1)
	if err != nil {
		return 0, err
	}
	outputs += more
	column := t.columns[b.best.column]
	t.gains[column] += b.best.gain
	t.cuts[at] = uint8(b.best.bin)
	t.nodes[at] = node{
		threshold:   t.data[column].threshold(b.best.bin),
		value:       float32(outputs / float64(b.total.count)),
		right:       int32(next),
		column:      uint16(column),
		missingLeft: b.best.missingLeft,
	}
	return outputs, nil
}

// children divides the rows of a branch and looks for the splits of both parts.
func (t *grower) children(ctx context.Context, b branch, depth int) (left, right branch, err error) {
	n := t.partition(b)
	left = branch{rows: b.rows[:n], total: b.best.left}
	right = branch{rows: b.rows[n:], total: b.total.minus(b.best.left)}
	if depth == 0 || max(n, len(b.rows)-n) < 2*t.options.MinLeaf {
		t.release(b.hist)
		return left, right, nil
	}
	small, large := &left, &right
	if len(small.rows) > len(large.rows) {
		small, large = large, small
	}
	small.hist, large.hist = t.histogram(), b.hist
	return left, right, t.search(ctx, small, large)
}

// partition moves the rows that go left to the front, in their order, and returns their number.
func (t *grower) partition(b branch) int {
	bins := t.data[t.columns[b.best.column]].bins
	left, right := 0, t.scratch[:0]
	for _, i := range b.rows {
		if goesLeft(bins[i], uint8(b.best.bin), b.best.missingLeft) {
			b.rows[left] = i
			left++
		} else {
			right = append(right, i)
		}
	}
	copy(b.rows[left:], right)
	return left
}

func goesLeft(bin, cut uint8, missingLeft bool) bool {
	if bin == missingBin {
		return missingLeft
	}
	return bin <= cut
}

// search fills the histogram of small from its rows and finds its best split. The histogram of large is that of the parent
// and becomes the difference. large may be nil.
func (t *grower) search(ctx context.Context, small, large *branch) error {
	workers := t.options.Workers
	if len(small.rows)*len(t.columns) < 1<<14 {
		workers = 1 // less work than handing it out
	}
	width := t.options.Bins + 1
	err := parallel(ctx, len(t.columns), workers, func(_, k int) {
		c := &t.data[t.columns[k]]
		hist := small.hist[k*width : k*width+c.count()]
		t.count(hist, c.bins, small.rows)
		t.splits[2*k] = t.bestSplit(k, c, hist, small.total)
		if large == nil {
			return
		}
		rest := large.hist[k*width : k*width+c.count()]
		for i := range rest {
			rest[i] = rest[i].minus(hist[i])
		}
		t.splits[2*k+1] = t.bestSplit(k, c, rest, large.total)
	})
	if err != nil {
		return err
	}
	for k := range t.columns { // in order: of equal gains, the first column wins
		if s := t.splits[2*k]; s.gain > small.best.gain {
			small.best = s
		}
		if large == nil {
			continue
		}
		if s := t.splits[2*k+1]; s.gain > large.best.gain {
			large.best = s
		}
	}
	return nil
}

// count adds up the gradients of rows by bin.
func (t *grower) count(hist []sum, bins []uint8, rows []int32) {
	clear(hist)
	for _, i := range rows {
		s, d := &hist[bins[i]], t.grad[i]
		s.g += int64(d.g)
		s.h += int64(d.h)
		s.count++
	}
}

// bestSplit tries each bin of column k as the last one on the left, with missing values on either side.
// Without missing values, later ones go to the side with more rows.
func (t *grower) bestSplit(k int, c *binned, hist []sum, total sum) (best split) {
	_, whole := t.scale.weight(total, t.options.L2)
	missing := hist[missingBin]
	try := func(bin int, left sum, missingLeft bool) {
		right := total.minus(left)
		if least := int64(t.options.MinLeaf); left.count < least || right.count < least {
			return
		}
		_, a := t.scale.weight(left, t.options.L2)
		_, b := t.scale.weight(right, t.options.L2)
		if gain := a + b - whole; gain > best.gain {
			best = split{gain, k, bin, missingLeft, left}
		}
	}
	var left sum
	for bin := 1; bin < c.count(); bin++ {
		s := hist[bin]
		left = sum{left.g + s.g, left.h + s.h, left.count + s.count}
		if s.count == 0 && bin > 1 {
			continue // the same division as before
		}
		if missing.count == 0 {
			try(bin, left, 2*left.count > total.count)
			continue
		}
		try(bin, left, false)
		try(bin, sum{left.g + missing.g, left.h + missing.h, left.count + missing.count}, true)
	}
	return best
}

// histogram returns an unused histogram of all columns of the tree.
func (t *grower) histogram() []sum {
	if n := len(t.free); n > 0 {
		h := t.free[n-1]
		t.free = t.free[:n-1]
		return h
	}
	return make([]sum, len(t.columns)*(t.options.Bins+1))
}

func (t *grower) release(h []sum) {
	if h != nil {
		t.free = append(t.free, h)
	}
}

// apply adds the output of the last tree to the scores of all rows.
func (t *grower) apply(ctx context.Context, scores []float64) error {
	const chunk = 4096
	return parallel(ctx, (len(scores)+chunk-1)/chunk, t.options.Workers, func(_, k int) {
		for i := k * chunk; i < min(len(scores), (k+1)*chunk); i++ {
			at := 0
			for !t.nodes[at].leaf() {
				n := &t.nodes[at]
				if goesLeft(t.data[n.column].bins[i], t.cuts[at], n.missingLeft) {
					at++
				} else {
					at = int(n.right)
				}
			}
			scores[i] += float64(t.nodes[at].value)
		}
	})
}
