package rules

import (
	"container/heap"
	"time"
)

// timers is a heap of the rules to evaluate at a time, ordered by due.
type timers []*evaluation

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i, j
}

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	e := x.(*evaluation) //nolint:forcetypeassert // the heap holds nothing else
	e.timer = len(*t)
	*t = append(*t, e)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	old := *t
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	e.timer = -1
	return e
}

// set moves a rule to the position of its deadline and recheck, and reports whether it became the first.
func (t *timers) set(e *evaluation) (first bool) {
	due := e.deadline
	if due.IsZero() || !e.recheck.IsZero() && e.recheck.Before(due) {
		due = e.recheck
	}
	switch {
	case due.IsZero():
		t.remove(e)
		return false
	case e.timer < 0:
		e.due = due
		heap.Push(t, e)
	case due.Equal(e.due):
		return false
	default:
		e.due = due
		heap.Fix(t, e.timer)
	}
	return e.timer == 0
}

func (t *timers) remove(e *evaluation) {
	if e.timer >= 0 {
		heap.Remove(t, e.timer)
	}
}

// next returns when the first rule is due; zero for never.
func (t timers) next() time.Time {
	if len(t) == 0 {
		return time.Time{}
	}
	return t[0].due
}
