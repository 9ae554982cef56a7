package rules

import (
	"math"
	"time"
)

// point is a value and its time.
type point struct {
	at    time.Time
	value float64
}

// ratePoints divides a window: values closer together are not kept, which bounds the memory of a rule. A rate is exact
// to 1/64 of the window.
const ratePoints = 64

// rate returns the change per second over the window of the rule: from the value one window ago, or the oldest known, to
// the current one. whole reports whether a whole window is known. rate sets recheck to the time at which the result
// changes by itself.
func (e *evaluation) rate(now time.Time) (rate float64, whole bool) {
	window, value := e.rule.Window, e.tag.number
	n := len(e.points)
	if n == 0 || value != e.points[n-1].value && now.Sub(e.points[n-1].at) >= window/ratePoints {
		e.points = append(e.points, point{now, value})
	}
	from := 0
	for from+1 < len(e.points) && now.Sub(e.points[from+1].at) >= window {
		from++
	}
	if from > 0 {
		e.points = append(e.points[:0], e.points[from:]...)
	}
	last := e.points[len(e.points)-1]
	whole = now.Sub(e.points[0].at) >= window
	switch {
	case last.value != value:
		e.recheck = last.at.Add(window / ratePoints)
	case !whole:
		e.recheck = e.points[0].at.Add(window)
	case len(e.points) > 1:
		e.recheck = e.points[1].at.Add(window)
	default:
		e.recheck = time.Time{}
	}
	return math.Abs(value-e.points[0].value) / window.Seconds(), whole
}
