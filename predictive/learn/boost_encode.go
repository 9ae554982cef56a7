package learn

import (
	"math"
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
	e.count(len(b.roots))
	for i := range b.nodes {
		n := &b.nodes[i]
		switch {
		case n.leaf():
			e.byte(nodeLeaf)
			e.float32(n.value)
			continue
		case n.missingLeft:
			e.byte(nodeLeft)
		default:
			e.byte(nodeRight)
		}
		e.float32(n.value)
		e.count(int(n.column))
		e.float(n.threshold)
	}
	return e.bytes(), nil
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
	read.roots = make([]int32, d.count(maxTrees, 5))
	for i := range read.roots {
		read.roots[i] = int32(len(read.nodes))
		read.readTree(d, maxDepth)
	}
	if err := d.end(); err != nil {
		return err
	}
	*b = read
	return nil
}

// readTree appends a node and those below it. As each follows its parent, no tree has a loop.
func (b *Boost) readTree(d *decoder, depth int) {
	at, form := len(b.nodes), d.byte()
	b.nodes = append(b.nodes, node{value: d.float32()})
	if !finite(float64(b.nodes[at].value)) {
		d.fail("an output is %v", b.nodes[at].value)
	}
	if form == nodeLeaf || d.err != nil {
		return
	}
	if form > nodeLeft || depth == 0 {
		d.fail("a node has form %d at depth %d", form, maxDepth-depth)
		return
	}
	n := node{value: b.nodes[at].value, column: uint16(d.count(b.columns-1, 0)), threshold: d.float(), missingLeft: form == nodeLeft}
	b.readTree(d, depth-1)
	n.right = int32(len(b.nodes))
	b.readTree(d, depth-1)
	b.nodes[at] = n
}
