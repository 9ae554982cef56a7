package historystore

import (
	"slices"
	"sort"

	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

// firstAt returns the index of the first of sorted points that is not before a time.
func firstAt(points []chunk.Point, micros int64) int {
	return sort.Search(len(points), func(i int) bool { return points[i].Micros >= micros })
}

// overlay merges sorted runs into sorted points. Of points with the same time the one of the last
// run counts.
func overlay(points []chunk.Point, runs [][]chunk.Point) []chunk.Point {
	late := newest(runs)
	if len(late) == 0 {
		return points
	}
	at := firstAt(points, late[0].Micros)
	if at == len(points) {
		return append(points, late...)
	}
	return append(points[:at:at], merge(points[at:], late)...)
}

// newest merges runs pairwise, neighbours first, so that the order of the runs decides.
func newest(runs [][]chunk.Point) []chunk.Point {
	for len(runs) > 1 {
		half := runs[:0:0]
		for pair := range slices.Chunk(runs, 2) {
			if len(pair) == 1 {
				half = append(half, pair[0])
			} else {
				half = append(half, merge(pair[0], pair[1]))
			}
		}
		runs = half
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

// merge merges two sorted runs; b counts where both have a time.
func merge(a, b []chunk.Point) []chunk.Point {
	out := make([]chunk.Point, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[len(a)-1].Micros < b[0].Micros: // the usual case: b follows a
			out = append(out, a...)
			a = nil
		case a[0].Micros < b[0].Micros:
			out = append(out, a[0])
			a = a[1:]
		case a[0].Micros > b[0].Micros:
			out = append(out, b[0])
			b = b[1:]
		default:
			a = a[1:]
		}
	}
	return append(append(out, a...), b...)
}
