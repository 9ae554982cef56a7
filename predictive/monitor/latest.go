package monitor

import (
	"slices"
	"sync"
)

// Latest is a [Sink] that keeps the newest result of each target. The zero value is empty. Safe for concurrent use.
type Latest struct {
	mu       sync.Mutex
	results  map[Target]numbered
	position uint64 // of the last change
	removed  uint64 // position of the last removal
}

type numbered struct {
	Result
	position uint64
}

// Put implements [Sink].
func (l *Latest) Put(r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.results == nil {
		l.results = make(map[Target]numbered)
	}
	l.advance()
	l.results[r.Target] = numbered{r, l.position}
}

// Remove implements [Sink].
func (l *Latest) Remove(gone []Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range gone {
		delete(l.results, t)
	}
	l.advance()
	l.removed = l.position
}

// advance numbers a change. Position 1 is that of nothing, from which the first change is seen.
func (l *Latest) advance() { l.position = max(l.position, 1) + 1 }

// Changes returns the results that are newer than a position, in the order of their targets, and the next position. With all
// set it returns the results of all targets, because the position is 0 or a target was removed after it.
func (l *Latest) Changes(after uint64) (list []Result, all bool, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all = after == 0 || l.removed > after
	if all || l.position > after {
		for _, r := range l.results {
			if all || r.position > after {
				list = append(list, r.Result)
			}
		}
	}
	slices.SortFunc(list, func(a, b Result) int { return a.Compare(b.Target) })
	return list, all, max(l.position, 1)
}
