package predictive

import (
	"math"
	"slices"
)

// spike judges the last of some values by its distance from the median of the few before it, among the distances of the others.
// A [learn.Detector] follows averages, in which one value counts little; this finds that one.
type spike struct {
	p         float64 // share of values that are at least as far off, that one included
	low, high float64 // what p stays above a limit for
}

// spikeSpan is how many values make the median.
const spikeSpan = 5

// judgeSpike returns p 1 and a range without limits for less values than the limit can be reached with.
func judgeSpike(values []float64, limit float64) spike {
	n := len(values) - spikeSpan - 1 // that the last is compared with
	s := spike{p: 1, low: math.Inf(-1), high: math.Inf(1)}
	if n < 1 || 1/float64(n+1) > limit {
		return s
	}
	distances := make([]float64, n)
	for i := range distances {
		distances[i] = math.Abs(values[i+spikeSpan] - medianBefore(values, i+spikeSpan))
	}
	slices.Sort(distances)
	expected := medianBefore(values, len(values)-1)
	distance := math.Abs(values[len(values)-1] - expected)
	at, _ := slices.BinarySearch(distances, distance)
	s.p = float64(1+n-at) / float64(n+1)
	// p is at most the limit if fewer than so many are as far off.
	farther := int(limit*float64(n+1)) - 1
	edge := distances[n-1-min(farther, n-1)]
	s.low, s.high = expected-edge, expected+edge
	return s
}

// medianBefore returns the median of the values before a place.
func medianBefore(values []float64, at int) float64 {
	var few [spikeSpan]float64
	copy(few[:], values[at-spikeSpan:at])
	slices.Sort(few[:])
	return few[spikeSpan/2]
}
