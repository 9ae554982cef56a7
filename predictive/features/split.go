package features

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/learn"
)

// Fold is a division of rows into those to train with and those to judge with.
type Fold struct{ Train, Test View }

// HoldOut divides by units: all lives of a unit go to the same side. Test gets a share of the units, at least one. It
// needs two units.
func (v View) HoldOut(share float64, seed uint64) (Fold, error) {
	if !(share > 0 && share < 1) {
		return Fold{}, fmt.Errorf("features: share %v is not between 0 and 1", share)
	}
	units := v.shuffledUnits(seed)
	if len(units) < 2 {
		return Fold{}, fmt.Errorf("features: %w: rows of %d units, want 2 or more to hold one out", learn.ErrData, len(units))
	}
	n := min(max(int(share*float64(len(units))+0.5), 1), len(units)-1)
	return v.without(units[:n]), nil
}

// Folds divides by units k times, so that each unit is in the test of one fold.
func (v View) Folds(k int, seed uint64) ([]Fold, error) {
	if k < 2 {
		return nil, fmt.Errorf("features: %d folds, want 2 or more", k)
	}
	units := v.shuffledUnits(seed)
	if len(units) < k {
		return nil, fmt.Errorf("features: %w: rows of %d units, want %d or more for as many folds", learn.ErrData, len(units), k)
	}
	folds := make([]Fold, k)
	for i := range folds {
		folds[i] = v.without(units[i*len(units)/k : (i+1)*len(units)/k])
	}
	return folds, nil
}

// Later divides by time: Train gets the lives that ended before cut, Test those that began at cut or later. Lives that were under way are
// in neither, since what is known of them before cut tells what comes after.
func (v View) Later(cut time.Time) Fold {
	nanos := cut.UnixNano()
	before, after := make([]bool, len(v.d.groups)), make([]bool, len(v.d.groups))
	for g := range before {
		before[g], after[g] = true, true
	}
	for _, i := range v.rows {
		r := v.d.rows[i]
		before[r.group] = before[r.group] && r.at < nanos
		after[r.group] = after[r.group] && r.at >= nanos
	}
	return Fold{v.filter(func(r row) bool { return before[r.group] }), v.filter(func(r row) bool { return after[r.group] })}
}

// Cut returns the time for [View.Later] that leaves a share of the lives, as near as possible, to the test.
func (v View) Cut(share float64) (time.Time, error) {
	var starts []int64 // of lives
	first := make(map[int32]int)
	for _, i := range v.rows {
		r := v.d.rows[i]
		at, ok := first[r.group]
		if !ok {
			at = len(starts)
			first[r.group], starts = at, append(starts, r.at)
		}
		starts[at] = min(starts[at], r.at)
	}
	if !(share > 0 && share < 1) || len(starts) < 2 {
		return time.Time{}, fmt.Errorf("features: %w: share %v of %d lives; want a share between 0 and 1 of 2 or more", learn.ErrData, share, len(starts))
	}
	slices.Sort(starts)
	n := min(max(int(share*float64(len(starts))+0.5), 1), len(starts)-1)
	return time.Unix(0, starts[len(starts)-n]).UTC(), nil
}

// shuffledUnits returns the units in an order that depends on the seed and not on the order of rows.
func (v View) shuffledUnits(seed uint64) (units []string) {
	seen := make(map[string]bool)
	for _, i := range v.rows {
		if unit := v.d.groups[v.d.rows[i].group].Unit; !seen[unit] {
			seen[unit] = true
			units = append(units, unit)
		}
	}
	slices.Sort(units)
	rand.New(rand.NewPCG(seed, 2)).Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	return units
}

// without returns the fold that tests with some units.
func (v View) without(units []string) Fold {
	test := make([]bool, len(v.d.groups))
	for g, group := range v.d.groups {
		test[g] = slices.Contains(units, group.Unit)
	}
	return Fold{v.filter(func(r row) bool { return !test[r.group] }), v.filter(func(r row) bool { return test[r.group] })}
}
