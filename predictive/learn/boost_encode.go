package learn

import (
	"math"
	"slices"
)

// Limits of models that are fitted or read.
const (
	maxTrees   = 10000
	maxDepth   = 16
	maxColumns = math.MaxUint16
)

const (
	nodeLeaf  = 0
	nodeRight = 1 // missing values go right
	nodeLeft  = 2
)

// MarshalBinary returns the model as bytes, about 10 for each node. The error is always nil.
func (b *Boost) MarshalBinary() ([]byte, error) {
	e := newEncoder(kindBoost, 1)
	if b.logistic {
		e.byte(1)
	} else {
		e.byte(0)
	}
	e.float(b.bias)
	e.float(b.base)
	e.floats(b.gains)
	e.count(len(b.trees))
	for _, tree := range b.trees {
		for i := range tree {
			writeNode(e, &tree[i])
		}
	}
	return e.bytes(), nil
}

func writeNode(e *encoder, n *node) {
	switch {
	case n.leaf():
		e.byte(nodeLeaf)
		e.float32(n.value)
		return
	case n.missingLeft:
		e.byte(nodeLeft)
	default:
		e.byte(nodeRight)
	}
	e.float32(n.value)
	e.count(int(n.column))
	e.float(n.threshold)
}

// UnmarshalBinary replaces the model by one that MarshalBinary wrote; see [ErrModel].
func (b *Boost) UnmarshalBinary(data []byte) error {
	d := newDecoder(data, kindBoost, 1)
	logistic := d.byte()
	if logistic > 1 {
		d.fail("the loss is %d", logistic)
	}
	read := Boost{logistic: logistic == 1, bias: d.finite(), base: d.finite(), gains: d.finites(maxColumns)}
	if read.columns = len(read.gains); read.columns == 0 {
		d.fail("the model has no columns")
	}
	var nodes []node
	for range d.count(maxTrees, 5) {
		nodes = readTree(d, nodes[:0], read.columns, maxDepth)
		read.trees = append(read.trees, slices.Clone(nodes))
	}
	if err := d.end(); err != nil {
		return err
	}
	*b = read
	return nil
}

// readTree appends a node and those below it. As each follows its parent, no tree has a loop.
func readTree(d *decoder, nodes []node, columns, depth int) []node {
	at, form := len(nodes), d.byte()
	n := node{value: d.float32()}
	if !finite(float64(n.value)) {
		d.fail("an output is %v", n.value)
	}
	nodes = append(nodes, n)
	if form == nodeLeaf || d.err != nil {
		return nodes
	}
	if form > nodeLeft || depth == 0 {
		d.fail("a node has form %d at depth %d", form, maxDepth-depth)
		return nodes
	}
	n.column, n.threshold, n.missingLeft = uint16(d.count(columns-1, 0)), d.float(), form == nodeLeft
	nodes = readTree(d, nodes, columns, depth-1)
	n.right = int32(len(nodes))
	nodes = readTree(d, nodes, columns, depth-1)
	nodes[at] = n
	return nodes
}
