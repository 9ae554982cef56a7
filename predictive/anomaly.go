package predictive

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/learn"
)

// anomalyThreshold is the score from which a sample is anomalous: a share of 0.005 of the samples of a signal that does not change is.
// Half of them are found by the averages of a [learn.Detector] and half as single values.
const (
	anomalyThreshold = 0.995
	partThreshold    = 1 - (1-anomalyThreshold)/2
)

// minAnomalySamples is how many samples an anomaly call needs.
const minAnomalySamples = 200

// Anomaly judges the newest sample of a tag by those before it. It changes nothing.
func (s *Service) Anomaly(ctx context.Context, tag string) (Anomaly, error) {
	if err := s.requireTag(ctx, tag); err != nil {
		return Anomaly{}, err
	}
	now := s.o.Clock()
	samples, err := s.newest(ctx, tag, now.Add(-s.o.AnomalyLookback), now.Add(1), s.o.AnomalySamples)
	if err != nil {
		return Anomaly{}, err
	}
	if n := len(samples); n < minAnomalySamples {
		return Anomaly{}, insufficient("%d samples in the last %s, at least %d are needed", n, s.o.AnomalyLookback, minAnomalySamples)
	}
	times, values := make([]time.Time, len(samples)), make([]float64, len(samples))
	for i, sample := range samples {
		times[i], values[i] = sample.Time, sample.Value
	}
	// The sample that is judged must not shape the season.
	season, err := learn.FindSeason(ctx, times[:len(times)-1], values[:len(values)-1])
	if ctx.Err() != nil {
		return Anomaly{}, ctx.Err()
	}
	if err != nil {
		season = nil
	}
	detector, err := learn.NewDetector(learn.DetectorOptions{Threshold: partThreshold, Season: season})
	if err != nil {
		return Anomaly{}, err
	}
	var last learn.Score
	for i := range samples {
		last = detector.Update(times[i], values[i])
	}
	if last.Ignored || !last.Ready {
		return Anomaly{}, insufficient("%d samples in the last %s are not enough to judge the newest", len(samples), s.o.AnomalyLookback)
	}
	return anomalyOf(tag, samples[len(samples)-1], last, judgeSpike(values, 1-partThreshold), now), nil
}

// anomalyOf joins what the averages and the single value tell: the smaller of two probabilities counts twice.
func anomalyOf(tag string, newest Sample, averages learn.Score, single spike, now time.Time) Anomaly {
	a := Anomaly{TagID: tag, Threshold: anomalyThreshold, DetectedAt: now, SampledAt: newest.Time, CurrentValue: newest.Value, Severity: SeverityLow}
	a.IsAnomaly = averages.Anomalous || single.p <= 1-partThreshold
	a.AnomalyScore = unit(1 - 2*min(1-averages.Rank, single.p))
	if a.IsAnomaly { // rounding
		a.AnomalyScore = max(a.AnomalyScore, anomalyThreshold)
		a.Severity = severityOf((a.AnomalyScore - anomalyThreshold) / (1 - anomalyThreshold))
	} else {
		a.AnomalyScore = min(a.AnomalyScore, math.Nextafter(anomalyThreshold, 0))
	}
	low, high := orElse(max(averages.Low, single.low), newest.Value), orElse(min(averages.High, single.high), newest.Value)
	if low > high { // no value would be normal now
		low = orElse(averages.Expected, newest.Value)
		high = low
	}
	a.ExpectedRange = Range{low, high}
	return a
}

// severityOf returns how severe an anomaly is, from its place between the threshold, 0, and the highest score, 1.
func severityOf(place float64) Severity {
	switch {
	case place < 0.4:
		return SeverityMedium
	case place < 0.8:
		return SeverityHigh
	default:
		return SeverityCritical
	}
}

func orElse(v, other float64) float64 {
	if finite(v) {
		return v
	}
	return other
}

// newest returns the newest usable samples, at most n, of a tag from a time to another, oldest first.
func (s *Service) newest(ctx context.Context, tag string, from, to time.Time, n int) ([]Sample, error) {
	if reader, ok := s.deps.History.(NewestReader); ok {
		list, err := reader.Newest(ctx, tag, from, to, n)
		return slices.DeleteFunc(slices.Clone(list), func(s Sample) bool { return s.Bad || !finite(s.Value) }), err
	}
	// The history begins with the oldest. Longer spans are tried until one has enough.
	for span := min(time.Hour, to.Sub(from)); ; span *= 4 {
		start := laterOf(to.Add(-span), from)
		ring := make([]Sample, 0, min(n, 1024))
		count := 0
		err := read(ctx, s.deps.History, []input{{tag: tag}}, start, to, func(_ int, at time.Time, value float64) error {
			if sample := (Sample{Time: at, Value: value}); len(ring) < n {
				ring = append(ring, sample)
			} else {
				ring[count%n] = sample
			}
			count++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if count >= n || !start.After(from) {
			if count > n {
				ring = append(slices.Clone(ring[count%n:]), ring[:count%n]...)
			}
			return ring, nil
		}
	}
}

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
