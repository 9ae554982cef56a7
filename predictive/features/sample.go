package features

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Sample is a value of a signal.
type Sample struct {
	// Signal is the index in the list of signals.
	Signal int
	Time   time.Time
	Value  float64
	// Bad is set when the source says that the value cannot be used.
	Bad bool
}

// Clean makes a list of samples fit for [Life.Add] and [Fitter.Add]: it drops those that are bad, not finite or out of
// range, sorts by time, settings of a time before its other signals where signals tell them, and keeps the last in the list of
// those with one signal and one time. It changes samples and returns a part of it.
func Clean(samples []Sample, signals []Signal) []Sample {
	samples = slices.DeleteFunc(samples, func(s Sample) bool {
		return s.Bad || !usable(s.Value) || !inRange(s.Time) || s.Signal < 0 || s.Signal >= len(signals)
	})
	rank := func(s Sample) int {
		if signals[s.Signal].Setting {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(samples, func(a, b Sample) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Signal, b.Signal))
	})
	kept := samples[:0]
	for _, s := range samples {
		if n := len(kept); n > 0 && kept[n-1].Signal == s.Signal && kept[n-1].Time.Equal(s.Time) {
			kept[n-1] = s
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// MaxValue is the largest magnitude of a value that is used: sums of squares stay finite.
const MaxValue = 1e100

func usable(x float64) bool { return math.Abs(x) <= MaxValue }

// inRange reports whether nanoseconds since 1970 can tell t.
func inRange(t time.Time) bool { return t.Year() > 1678 && t.Year() < 2262 }

// stepOf returns the number of the step that nanoseconds since 1970 are in. A step has its end and not its beginning.
func stepOf(nanos int64, step time.Duration) int64 {
	q := nanos / int64(step)
	if nanos > 0 && nanos%int64(step) != 0 {
		q++
	}
	return q
}
