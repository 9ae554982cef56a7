package tagstest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func testReadEach(t *testing.T, dev *device) {
	dev.connect(t)
	for _, p := range dev.Readable {
		dev.readGood(t, p)
	}
}

// testReadInOrder reads the points forwards, backwards and each twice. Points that can be written
// have values that are known, and so show whether each answer stands in its place.
func testReadInOrder(t *testing.T, dev *device) {
	dev.connect(t)
	want := dev.writeAll(t, dev.Writable)
	points := slices.Concat(dev.Readable, pointsOf(dev.Writable))
	backwards := slices.Clone(points)
	slices.Reverse(backwards)
	for _, list := range [][]tags.Point{points, backwards, slices.Concat(points, backwards)} {
		for i, r := range dev.readGood(t, list...) {
			if value, known := want[list[i]]; known {
				require.Equal(t, value, r.Value, "Read of point %d (%s)", i, list[i].Address)
			}
		}
	}
}

func testReadNothing(t *testing.T, dev *device) {
	dev.connect(t)
	_, err := dev.readCtx(t, dev.context(t), dev.Timeout+soon)
	require.NoError(t, err, "Read of no points")
	_, err = dev.writeCtx(t, dev.context(t), dev.Timeout+soon)
	require.NoError(t, err, "Write of no items")
}

func testMissingPoint(t *testing.T, dev *device) {
	if dev.Missing.Address == "" {
		t.Skip("the harness has no Missing point")
	}
	dev.badPoint(t, dev.Missing)
}

func testMalformedPoint(t *testing.T, dev *device) {
	if dev.Malformed.Address == "" {
		t.Skip("the harness has no Malformed point")
	}
	dev.badPoint(t, dev.Malformed)
}

// badPoint reads and writes one bad point alone and among good ones, at every place.
func (dev *device) badPoint(t testing.TB, bad tags.Point) {
	t.Helper()
	dev.connect(t)
	require.Error(t, dev.read(t, bad)[0].Err, "Read of %q", bad.Address)
	for _, at := range places(len(dev.Readable)) {
		list := slices.Insert(slices.Clone(dev.Readable), at, bad)
		for i, r := range dev.read(t, list...) {
			if i == at {
				require.Error(t, r.Err, "Read of %q as point %d", bad.Address, i)
			} else {
				requireGood(t, list[i], r)
			}
		}
	}
	item := tags.WriteItem{Point: bad, Value: exampleOf(bad.Type)}
	if len(dev.Writable) > 0 {
		dev.badWrite(t, item)
	}
}

// badWrite writes one bad item among good ones and sees that the good ones arrive.
func (dev *device) badWrite(t testing.TB, bad tags.WriteItem) {
	t.Helper()
	for _, at := range places(len(dev.Writable)) {
		items := slices.Insert(slices.Clone(dev.Writable), at, bad)
		errs, err := dev.writeCtx(t, dev.context(t), dev.Timeout+soon, items...)
		require.NoError(t, err, "Write with a bad item %q", bad.Point.Address)
		for i, e := range errs {
			if i == at {
				require.Error(t, e, "Write of %q as item %d", bad.Point.Address, i)
			} else {
				require.NoError(t, e, "Write of %s beside a bad item", items[i].Point.Address)
			}
		}
		dev.requireValues(t, lastOf(dev.Writable))
	}
}

func testWriteEach(t *testing.T, dev *device) {
	if len(dev.Writable) == 0 {
		t.Skip("the harness has no Writable points")
	}
	dev.connect(t)
	for _, item := range dev.Writable {
		dev.writeGood(t, item)
		require.Equal(t, item.Value, dev.readGood(t, item.Point)[0].Value, "Read of %s after Write", item.Point.Address)
	}
}

func testWriteInOrder(t *testing.T, dev *device) {
	if len(dev.Writable) == 0 {
		t.Skip("the harness has no Writable points")
	}
	dev.connect(t)
	dev.writeAll(t, dev.Writable)
	backwards := slices.Clone(dev.Writable)
	slices.Reverse(backwards)
	dev.writeAll(t, backwards)
	dev.writeAll(t, dev.Writable)
}

func testRefusedWrite(t *testing.T, dev *device) {
	if len(dev.Refused) == 0 {
		t.Skip("the harness has no Refused writes")
	}
	dev.connect(t)
	for _, item := range dev.Refused {
		errs, err := dev.writeCtx(t, dev.context(t), dev.Timeout+soon, item)
		require.NoError(t, err, "Write of %s as a whole", item.Point.Address)
		require.Error(t, errs[0], "Write of %s", item.Point.Address)
		dev.badWrite(t, item)
	}
	dev.readGood(t, dev.Readable...)
}

// writeAll writes all items in one call and checks what the points have afterwards: the value that
// was written last.
func (dev *device) writeAll(t testing.TB, items []tags.WriteItem) map[tags.Point]tags.Value {
	t.Helper()
	want := lastOf(items)
	if len(items) > 0 {
		dev.writeGood(t, items...)
		dev.requireValues(t, want)
	}
	return want
}

func (dev *device) requireValues(t testing.TB, want map[tags.Point]tags.Value) {
	t.Helper()
	points := make([]tags.Point, 0, len(want))
	for p := range want {
		points = append(points, p)
	}
	for i, r := range dev.readGood(t, points...) {
		require.Equal(t, want[points[i]], r.Value, "Read of %s after Write", points[i].Address)
	}
}

func lastOf(items []tags.WriteItem) map[tags.Point]tags.Value {
	last := make(map[tags.Point]tags.Value, len(items))
	for _, item := range items {
		last[item.Point] = item.Value
	}
	return last
}

func pointsOf(items []tags.WriteItem) []tags.Point {
	points := make([]tags.Point, len(items))
	for i, item := range items {
		points[i] = item.Point
	}
	return points
}

// places returns the first place, one in the middle and the last of a list of n with one more.
func places(n int) []int { return slices.Compact([]int{0, n / 2, n}) }

func exampleOf(t tags.DataType) tags.Value {
	switch t {
	case tags.Bool:
		return tags.BoolValue(true)
	case tags.Int:
		return tags.IntValue(1)
	case tags.Float:
		return tags.FloatValue(1)
	case tags.String:
		return tags.StringValue("1")
	case tags.Bytes:
		return tags.BytesValue([]byte{1})
	}
	return tags.Value{}
}
