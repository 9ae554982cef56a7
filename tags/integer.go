package tags

import "math"

// integerScale returns scale and offset of an Int tag where both are whole, so that raw and engineering
// values can be computed without the limit of a float64 at 2^53.
func (t *Tag) integerScale() (scale, offset int64, ok bool) {
	s, o := t.scale(), t.Offset
	const limit = 1 << 53 // what a float64 holds exactly
	if t.DataType != Int || s != math.Trunc(s) || o != math.Trunc(o) || math.Abs(s) > limit || math.Abs(o) > limit {
		return 0, 0, false
	}
	return int64(s), int64(o), true
}

// integerEngineering is engineering without rounding; ok is false where that cannot be done.
func (t *Tag) integerEngineering(raw Value) (n int64, ok bool) {
	scale, offset, ok := t.integerScale()
	if !ok || raw.kind != kindInt {
		return 0, false
	}
	product := raw.Int() * scale
	sum := product + offset
	fits := product/scale == raw.Int() && !(scale == -1 && product == math.MinInt64)
	return sum, fits && (sum > product) == (offset > 0)
}

// integerRaw is raw without rounding; ok is false where that cannot be done.
func (t *Tag) integerRaw(v Value) (n int64, ok bool) {
	scale, offset, ok := t.integerScale()
	if !ok || v.kind != kindInt {
		return 0, false
	}
	shifted := v.Int() - offset
	fits := (shifted < v.Int()) == (offset > 0) && !(scale == -1 && shifted == math.MinInt64)
	return shifted / scale, fits && shifted%scale == 0
}
