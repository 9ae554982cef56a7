package predictive

import (
	"cmp"
	"container/list"
	"context"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"sync"
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

func (s *Service) anomaly(ctx context.Context, tag string) (Anomaly, error) {
	if err := s.requireTag(ctx, tag); err != nil {
		return Anomaly{}, err
	}
	now := s.o.Clock()
	// The beginning moves in steps, so that detectors can go on.
	step := max(s.o.AnomalyLookback/16, 1)
	from := now.Add(-s.o.AnomalyLookback).Truncate(step).Add(step)
	samples, err := s.newest(ctx, tag, from, now.Add(1), s.o.AnomalySamples)
	if err != nil {
		return Anomaly{}, err
	}
	large := 0
	if slices.ContainsFunc(samples, func(s Sample) bool { return tooLarge(s.Value) }) {
		all := len(samples)
		samples = slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return tooLarge(s.Value) })
		large = all - len(samples)
	}
	if n := len(samples); n < minAnomalySamples {
		return Anomaly{}, insufficient("%d samples in the last %s, at least %d are needed%s", n, s.o.AnomalyLookback, minAnomalySamples, leftOut(large))
	}
	part := stretchOf(samples)
	last, single, err := s.detectors.of(tag).judge(ctx, samples, part)
	if err != nil {
		return Anomaly{}, err
	}
	if last.Ignored || !last.Ready {
		return Anomaly{}, insufficient("%d samples in the last %s are not enough to judge the newest%s", len(samples), s.o.AnomalyLookback, leftOut(large))
	}
	return anomalyOf(tag, samples[len(samples)-1], last, single, now), nil
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

// spike judges the last of some values by its distance from the median of the few before it, among the distances of the others.
// A [learn.Detector] follows averages, in which one value counts little; this finds that one.
type spike struct {
	p         float64 // share of values that are at least as far off, that one included
	low, high float64 // what p stays above a limit for
}

// spikeSpan is how many values make the median.
const spikeSpan = 5

// judgeSpike returns p 1 and a range without limits for less values than the limit can be reached with. Sorted has the distances of the
// samples but the last.
func judgeSpike(samples []Sample, sorted []float64, limit float64) spike {
	n := len(sorted)
	s := spike{p: 1, low: math.Inf(-1), high: math.Inf(1)}
	if n < 1 || 1/float64(n+1) > limit {
		return s
	}
	at, _ := slices.BinarySearch(sorted, distance(samples, len(samples)-1))
	s.p = float64(1+n-at) / float64(n+1)
	// p is at most the limit if fewer than so many are as far off.
	farther := int(limit*float64(n+1)) - 1
	expected, edge := medianBefore(samples, len(samples)-1), sorted[n-1-min(farther, n-1)]
	s.low, s.high = expected-edge, expected+edge
	return s
}

// distance returns how far a sample is from the median of the few before it.
func distance(samples []Sample, at int) float64 {
	return math.Abs(samples[at].Value - medianBefore(samples, at))
}

// medianBefore returns the median of the values before a place.
func medianBefore(samples []Sample, at int) float64 {
	var few [spikeSpan]float64
	for i := range few {
		few[i] = samples[at-spikeSpan+i].Value
	}
	slices.Sort(few[:])
	return few[spikeSpan/2]
}

// stretch is the part of a list of samples that a detector sees. Its limits follow from the samples alone, and move seldom while samples are
// added and old ones drop out, so that a detector can go on with what is new.
type stretch struct {
	first int // the first sample that is seen
	known int // the first sample that does not shape the season
}

// manySamples is from where on old samples may be left out.
const manySamples = 500

// stretchOf returns the stretch of a list.
func stretchOf(samples []Sample) (s stretch) {
	n := len(samples)
	oldest, newest := samples[0].Time.UnixNano(), samples[n-1].Time.UnixNano()
	// A power of two does not move with the length of the list, and at most an eighth is lost at each end.
	step := int64(1)
	for step <= (newest-oldest)/16 {
		step *= 2
	}
	at := func(nanos int64) int { // the first sample from a time on
		i, _ := slices.BinarySearchFunc(samples, nanos, func(s Sample, nanos int64) int { return cmp.Compare(s.Time.UnixNano(), nanos) })
		return i
	}
	for ; ; step /= 2 {
		s = stretch{0, at(newest - mod(newest, step))}
		if n >= manySamples {
			s.first = at(oldest + mod(-oldest, step))
		}
		// Samples may be dense at the ends.
		if step == 1 || s.first <= n/8 && n-s.known <= n/8 {
			s.known = min(s.known, n-1) // the sample that is judged must not shape the season
			return s
		}
	}
}

// mod returns the remainder of a floored division.
func mod(a, b int64) int64 { return ((a % b) + b) % b }

// warmed is the detector of a tag that has seen samples. Whether they are still the same is checked, so that answers are those of a new one.
type warmed struct {
	mu         sync.Mutex
	detector   *learn.Detector // nil: none
	first, end time.Time       // the samples of the season
	seen       int
	sum        uint64 // of the samples that were seen
	last       learn.Score
	distances  []float64 // of the samples that were seen but the last, sorted; see [judgeSpike]
}

// judge returns what the averages and the single value tell of the newest sample.
func (w *warmed) judge(ctx context.Context, samples []Sample, part stretch) (learn.Score, spike, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, first, end := samples[part.first:], samples[part.first].Time, samples[part.known].Time
	var h maphash.Hash
	h.SetSeed(sampleSeed)
	ahead := w.detector != nil && w.seen <= len(all) && w.first.Equal(first) && w.end.Equal(end)
	if ahead {
		addSamples(&h, all[:w.seen])
		ahead = h.Sum64() == w.sum
	}
	if !ahead {
		h.Reset()
		if err := w.start(ctx, samples[part.first:part.known]); err != nil {
			return learn.Score{}, spike{}, err
		}
		w.first, w.end = first, end
	}
	for _, sample := range all[w.seen:] {
		w.last = w.detector.Update(sample.Time, sample.Value)
	}
	addSamples(&h, all[w.seen:])
	w.addDistances(all)
	w.seen, w.sum = len(all), h.Sum64()
	return w.last, judgeSpike(all, w.distances, 1-partThreshold), nil
}

// addDistances adds the distances of the samples since those that were seen, of which the last was left out.
func (w *warmed) addDistances(samples []Sample) {
	from, to := max(w.seen-1, spikeSpan), len(samples)-1
	if few := 50; to-from > few {
		for i := from; i < to; i++ {
			w.distances = append(w.distances, distance(samples, i))
		}
		slices.Sort(w.distances)
		return
	}
	for i := from; i < to; i++ {
		d := distance(samples, i)
		at, _ := slices.BinarySearch(w.distances, d)
		w.distances = slices.Insert(w.distances, at, d)
	}
}

// start begins with a new detector, whose season is that of some samples.
func (w *warmed) start(ctx context.Context, samples []Sample) error {
	w.detector, w.seen, w.last, w.distances = nil, 0, learn.Score{}, w.distances[:0]
	times, values := make([]time.Time, len(samples)), make([]float64, len(samples))
	for i, sample := range samples {
		times[i], values[i] = sample.Time, sample.Value
	}
	season, err := learn.FindSeason(ctx, times, values)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		season = nil
	}
	w.detector, err = learn.NewDetector(learn.DetectorOptions{Threshold: partThreshold, Season: season})
	return err
}

var sampleSeed = maphash.MakeSeed()

func addSamples(h *maphash.Hash, samples []Sample) {
	var b [16]byte
	for _, s := range samples {
		binary.LittleEndian.PutUint64(b[:8], uint64(s.Time.UnixNano()))
		binary.LittleEndian.PutUint64(b[8:], math.Float64bits(s.Value))
		_, _ = h.Write(b[:])
	}
}

// detectors remembers those of the tags that were asked for last, 75 KB each.
type detectors struct {
	limit int

	mu    sync.Mutex
	tags  map[string]*list.Element // of order
	order list.List                // of *detectorOf, the one asked for last in front
}

type detectorOf struct {
	tag string
	warmed
}

// of returns the detector of a tag.
func (d *detectors) of(tag string) *warmed {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.tags[tag]; e != nil {
		d.order.MoveToFront(e)
		return &e.Value.(*detectorOf).warmed
	}
	if d.tags == nil {
		d.tags = make(map[string]*list.Element)
	}
	if len(d.tags) >= d.limit {
		oldest := d.order.Back()
		delete(d.tags, d.order.Remove(oldest).(*detectorOf).tag)
	}
	e := &detectorOf{tag: tag}
	d.tags[tag] = d.order.PushFront(e)
	return &e.warmed
}
