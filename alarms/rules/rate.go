package rules

import (
	"math"
	"time"
)

// point is a value and when it came.
type point struct {
	at    time.Time
	value float64
}

// ratePoints is how finely a window is divided: values that come closer together are not kept, which
// bounds the memory of a rule and makes its rate exact to 1/64 of the window.
const ratePoints = 64

// rate returns the change per second over the rule's window: of the value now from the one that held a
// window ago, or from the oldest that is known. Until one is known from a window ago it is not whole: what
// came before would have to be added. It says in recheck when that changes by itself.
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
