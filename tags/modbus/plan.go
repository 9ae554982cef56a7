package modbus

import (
	"cmp"
	"slices"
	"time"

	"github.com/otkit/otkit/tags"
)

// plan holds the requests that read a list of points. The engine reads the same lists again and again,
// so plans are kept.
type plan struct {
	points []tags.Point
	parsed []point
	bad    []badPoint
	units  []unitRuns
}

type badPoint struct {
	index int
	err   error
}

// unitRuns are the requests of one unit.
type unitRuns struct {
	unit uint8
	runs []run
}

// run is one request: a stretch of a table that covers its items.
type run struct {
	place
	start uint16
	count int
	items []int // into plan.parsed, by start and count
}

// place is a table of a unit.
type place struct {
	unit  uint8
	table table
}

// block is what one point covers.
type block struct {
	place
	start, count uint16
}

func (r *run) block() block   { return block{r.place, r.start, uint16(r.count)} }
func (p *point) place() place { return place{p.unit, p.table} }
func (p *point) block() block { return block{p.place(), p.start, p.count} }
func (p *point) end() int     { return int(p.start) + int(p.count) }

// runOf returns the run that covers items.
func (p *plan) runOf(items []int) run {
	first := &p.parsed[items[0]]
	end := 0
	for _, i := range items {
		end = max(end, p.parsed[i].end())
	}
	return run{place: first.place(), start: first.start, count: end - int(first.start), items: items}
}

// middle returns the index at which items are best halved, 0 when all cover the same. Points that start
// together stay together if possible, as a cut cannot be remembered between them.
func (p *plan) middle(items []int) int {
	half := len(items) / 2
	for m := max(half, 1); m < len(items); m++ {
		if p.parsed[items[m]].start != p.parsed[items[m-1]].start {
			return m
		}
	}
	for m := half; m > 0; m-- {
		if p.parsed[items[m]].start != p.parsed[items[m-1]].start {
			return m
		}
	}
	for m := 1; m < len(items); m++ {
		if p.parsed[items[m]].count != p.parsed[items[m-1]].count {
			return m
		}
	}
	return 0
}

// plans keeps the plans and what was learnt about where runs must be split.
type plans struct {
	limits func(unit uint8) (gap, most int)
	kept   map[planKey]*plan
	size   int                 // points in kept
	cuts   map[place][]uint16  // no run continues across such an address; sorted
	alone  map[block]struct{}  // refused by themselves: not to be joined with others
	whole  map[block]time.Time // runs that are not halved before this
}

// planKey finds a plan; the points themselves decide whether it is the right one.
type planKey struct {
	length      int
	first, last tags.Point
}

// The most points in kept plans and the most blocks that stand alone. Beyond, all are forgotten.
const (
	maxPlans    = 1 << 18
	maxIsolated = 1 << 16
)

func (ps *plans) of(points []tags.Point, parse func(tags.Point) (point, error)) *plan {
	if len(points) == 0 {
		return &plan{}
	}
	key := planKey{len(points), points[0], points[len(points)-1]}
	if p := ps.kept[key]; p != nil && slices.Equal(p.points, points) {
		return p
	}
	p := ps.build(points, parse)
	if ps.size += len(points); ps.size > maxPlans || ps.kept == nil {
		ps.kept, ps.size = make(map[planKey]*plan), len(points)
	}
	ps.kept[key] = p
	return p
}

func (ps *plans) build(points []tags.Point, parse func(tags.Point) (point, error)) *plan {
	p := &plan{points: slices.Clone(points), parsed: make([]point, len(points))}
	items := make([]int, 0, len(points))
	for i := range points {
		var err error
		if p.parsed[i], err = parse(points[i]); err != nil {
			p.bad = append(p.bad, badPoint{i, err})
			continue
		}
		items = append(items, i)
	}
	slices.SortStableFunc(items, func(i, j int) int {
		a, b := &p.parsed[i], &p.parsed[j]
		return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.table, b.table),
			cmp.Compare(a.start, b.start), cmp.Compare(a.count, b.count))
	})
	for len(items) > 0 {
		n := ps.reach(p, items)
		r := p.runOf(items[:n:n])
		if k := len(p.units); k == 0 || p.units[k-1].unit != r.unit {
			p.units = append(p.units, unitRuns{unit: r.unit})
		}
		last := &p.units[len(p.units)-1]
		last.runs = append(last.runs, r)
		items = items[n:]
	}
	return p
}

// reach returns how many of the sorted items one request can read together with the first.
func (ps *plans) reach(p *plan, items []int) int {
	first := &p.parsed[items[0]]
	gap, most := ps.limits(first.unit)
	if first.table.bits() {
		gap, most = 16*gap, min(16*most, maxReadBits)
	}
	_, single := ps.alone[first.block()]
	end := first.end()
	for n := 1; n < len(items); n++ {
		previous, next := &p.parsed[items[n-1]], &p.parsed[items[n]]
		if next.block() == previous.block() {
			continue
		}
		_, alone := ps.alone[next.block()]
		newEnd := max(end, next.end())
		if single || alone || next.place() != first.place() || int(next.start) > end+gap ||
			newEnd-int(first.start) > most || ps.cutBetween(previous, next) {
			return n
		}
		end = newEnd
	}
	return len(items)
}

func (ps *plans) cutBetween(previous, next *point) bool {
	cuts := ps.cuts[next.place()]
	i, exactly := slices.BinarySearch(cuts, previous.start)
	if exactly {
		i++
	}
	return i < len(cuts) && cuts[i] <= next.start
}

// cut remembers that no run continues from below start to start.
func (ps *plans) cut(where place, start uint16) {
	cuts := ps.cuts[where]
	if i, known := slices.BinarySearch(cuts, start); !known {
		if ps.cuts == nil {
			ps.cuts = make(map[place][]uint16)
		}
		ps.cuts[where] = slices.Insert(cuts, i, start)
	}
	ps.kept = nil
}

// isolate remembers that b was refused when it was asked for by itself.
func (ps *plans) isolate(b block) {
	if _, known := ps.alone[b]; known {
		return
	}
	if len(ps.alone) >= maxIsolated || ps.alone == nil {
		ps.alone = make(map[block]struct{})
	}
	ps.alone[b] = struct{}{}
	// Its neighbours are not to be joined across it either.
	ps.cut(b.place, b.start)
}

// release forgets that b was refused: the device has it now.
func (ps *plans) release(b block) {
	if _, known := ps.alone[b]; !known {
		return
	}
	delete(ps.alone, b)
	cuts := ps.cuts[b.place]
	if i, known := slices.BinarySearch(cuts, b.start); known {
		ps.cuts[b.place] = slices.Delete(cuts, i, i+1)
	}
	ps.kept = nil
}

// keepWhole remembers that a run is not worth halving before a time.
func (ps *plans) keepWhole(b block, until time.Time) {
	if len(ps.whole) >= maxIsolated || ps.whole == nil {
		ps.whole = make(map[block]time.Time)
	}
	ps.whole[b] = until
}

// forget drops all that was learnt.
func (ps *plans) forget() { *ps = plans{limits: ps.limits} }
