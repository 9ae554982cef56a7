package repository

import (
	"slices"
	"sort"
)

// idList is ids in ascending order. They are in runs, so that neither a new id nor passing over many
// takes time in proportion to their number.
type idList struct {
	runs  [][]string // none is empty
	count int
}

const maxRun = 512

func (l *idList) len() int { return l.count }

// run returns the index of the run that an id is in or belongs to.
func (l *idList) run(id string) int {
	n := sort.Search(len(l.runs), func(i int) bool { return l.runs[i][0] > id })
	return max(n-1, 0)
}

// insert adds an id that is not there.
func (l *idList) insert(id string) {
	l.count++
	if len(l.runs) == 0 {
		l.runs = [][]string{{id}}
		return
	}
	n := l.run(id)
	at, _ := slices.BinarySearch(l.runs[n], id)
	run := slices.Insert(l.runs[n], at, id)
	l.runs[n] = run
	if len(run) <= maxRun {
		return
	}
	half := len(run) / 2
	if at == len(run)-1 && n == len(l.runs)-1 {
		half = len(run) - 1 // ids that ascend fill their runs
	}
	l.runs = slices.Insert(l.runs, n+1, slices.Clone(run[half:]))
	clear(run[half:])
	l.runs[n] = run[:half]
}

func (l *idList) remove(id string) {
	if len(l.runs) == 0 {
		return
	}
	n := l.run(id)
	at, found := slices.BinarySearch(l.runs[n], id)
	if !found {
		return
	}
	l.count--
	if l.runs[n] = slices.Delete(l.runs[n], at, at+1); len(l.runs[n]) == 0 {
		l.runs = slices.Delete(l.runs, n, n+1)
	}
}

// walk calls yield with the ids in order until it returns false: those above after or, with all, every
// one, and tells which is the case. Before a whole run of ids above after it asks skip whether it is to
// be skipped.
func (l *idList) walk(after string, all bool, yield func(id string, above bool) bool, skip func(size int) bool) {
	first := 0
	if !all && after != "" && len(l.runs) > 0 {
		first = l.run(after)
	}
	for _, run := range l.runs[min(first, len(l.runs)):] {
		whole := after == "" || run[0] > after
		if whole && !all && skip(len(run)) {
			continue
		}
		for _, id := range run {
			above := whole || id > after
			if !above && !all {
				continue
			}
			if !yield(id, above) {
				return
			}
		}
	}
}
