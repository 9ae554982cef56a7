package monitor

import (
	"container/list"
	"slices"
	"sync"
)

// Latest is a [Sink] that keeps the newest result of each target. The zero value is empty. Safe for concurrent use.
type Latest struct {
	mu       sync.Mutex
	results  map[Target]*list.Element
	newest   list.List // of numbered, the newest first
	position uint64    // of the last change
	removed  uint64    // position of the last removal
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
		l.results = make(map[Target]*list.Element)
	}
	l.advance()
	if e := l.results[r.Target]; e != nil {
		l.newest.Remove(e)
	}
	l.results[r.Target] = l.newest.PushFront(numbered{r, l.position})
}

// Remove implements [Sink].
func (l *Latest) Remove(gone []Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range gone {
		if e := l.results[t]; e != nil {
			l.newest.Remove(e)
			delete(l.results, t)
		}
	}
	l.advance()
	l.removed = l.position
}

// Reset forgets all results, as for a monitor that begins anew.
func (l *Latest) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.results)
	l.newest.Init()
	l.advance()
	l.removed = l.position
}

// advance numbers a change. Position 1 is that of nothing, from which the first change is seen.
func (l *Latest) advance() { l.position = max(l.position, 1) + 1 }

// Changes returns the results that are newer than a position, in the order of their targets, and the next position. With all
// set it returns the results of all targets, because the position is 0 or a target was removed after it. It costs as much as what it
// returns.
func (l *Latest) Changes(after uint64) (changed []Result, all bool, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all = after == 0 || l.removed > after
	for e := l.newest.Front(); e != nil; e = e.Next() {
		r := e.Value.(numbered)
		if !all && r.position <= after {
			break
		}
		changed = append(changed, r.Result)
	}
	slices.SortFunc(changed, func(a, b Result) int { return a.Compare(b.Target) })
	return changed, all, max(l.position, 1)
}
