package features

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrPast is the error of a row that is asked for a time before the newest sample: it would know its future.
var ErrPast = errors.New("features: time of row is before the newest sample")

// Stats counts what became of samples.
type Stats struct {
	Used int
	// Bad ones are not finite, out of range or of an unknown signal.
	Bad int
	// Repeated ones have the time of the newest sample of their signal.
	Repeated int
	// Late ones are before the newest sample of their signal.
	Late int
	// Unplaced ones came before the settings told the operating condition.
	Unplaced int
}

// Life computes the features of one unit from one start to its failure or until now. It is used by one goroutine at a
// time.
type Life struct {
	x         *Extractor
	start     time.Time
	settings  []int64   // times of the settings
	raw       []float64 // values of the settings
	condition int       // -1 while the settings do not tell it
	changed   bool      // a setting, since the condition was looked up
	series    []series
	origin    int64 // time of the first sample in nanoseconds since 1970
	newest    int64
	stats     Stats
}

// series is the window of one signal.
type series struct {
	steps    []bucket // by step modulo length
	last     float64
	lastAt   int64
	baseline Moments
	based    int     // steps in the baseline
	basedAt  int64   // the newest of them
	given    bool    // the baseline is known, not computed
	known    float64 // it, NaN for none
}

// bucket is one step of a window.
type bucket struct {
	step int64
	Moments
}

const never = math.MinInt64

func newLife(x *Extractor, start time.Time) *Life {
	l := &Life{x: x, start: start, settings: make([]int64, x.settings), raw: make([]float64, x.settings), changed: true,
		series: make([]series, len(x.kept)), newest: never, origin: never}
	for i := range l.settings {
		l.settings[i], l.raw[i] = never, math.NaN()
	}
	steps := make([]bucket, len(x.kept)*x.options.Window)
	for i := range steps {
		steps[i].step = never
	}
	for i := range l.series {
		l.series[i].lastAt, l.series[i].basedAt = never, never
		l.series[i].steps, steps = steps[:x.options.Window], steps[x.options.Window:]
	}
	return l
}

// Add adds a sample of a signal, given by its index in the list of signals, and reports whether it is used. Samples come in
// the order of their times, settings before the other signals of a time. [Stats] tells which are dropped.
func (l *Life) Add(signal int, at time.Time, value float64) bool {
	if signal < 0 || signal >= len(l.x.slots) || !usable(value) || !inRange(at) {
		l.stats.Bad++
		return false
	}
	slot, nanos := l.x.slots[signal], at.UnixNano()
	newest := &l.newest
	switch {
	case slot.setting:
		newest = &l.settings[slot.index]
	case slot.index >= 0:
		newest = &l.series[slot.index].lastAt
	}
	switch {
	case slot.index < 0: // never changes, so has no features
	case nanos == *newest:
		l.stats.Repeated++
		return false
	case nanos < *newest:
		l.stats.Late++
		return false
	case slot.setting:
		*newest, l.raw[slot.index], l.changed = nanos, value, true
	default:
		if !l.addValue(slot.index, nanos, stepOf(nanos, l.x.options.Step), value) {
			return false
		}
	}
	l.newest = max(l.newest, nanos)
	l.stats.Used++
	return true
}

// addValue adds a sample of a signal that has features.
func (l *Life) addValue(index int, nanos, step int64, value float64) bool {
	if l.changed {
		l.condition, l.changed = l.x.levels.condition(l.raw), false
	}
	if l.condition < 0 {
		l.stats.Unplaced++
		return false
	}
	if l.origin == never {
		l.origin = nanos
	}
	s := &l.series[index]
	s.last, s.lastAt = l.x.levels.scale(l.condition, index, value), nanos
	hours := float64(nanos-l.origin) / float64(time.Hour)
	b := &s.steps[index64(step, len(s.steps))]
	if b.step != step {
		*b = bucket{step: step}
	}
	b.Add(hours, s.last)
	if step != s.basedAt && s.based <= l.x.options.Baseline {
		s.based, s.basedAt = s.based+1, step
	}
	if s.based <= l.x.options.Baseline {
		s.baseline.Add(hours, s.last)
	}
	return true
}

// index64 returns the place of a step in a ring.
func index64(step int64, length int) int {
	i := int(step % int64(length))
	if i < 0 {
		i += length
	}
	return i
}

// Row writes the features as of a time into row, which has as many elements as [Extractor.Names]. A time before the newest
// sample is [ErrPast]. Row does not allocate.
func (l *Life) Row(at time.Time, row []float64) error {
	if len(row) != len(l.x.names) {
		return fmt.Errorf("features: row of %d values, want %d", len(row), len(l.x.names))
	}
	if !inRange(at) {
		return fmt.Errorf("features: time of row %v is out of range", at)
	}
	nanos := at.UnixNano()
	if nanos < l.newest {
		return ErrPast
	}
	now := stepOf(nanos, l.x.options.Step)
	rest := row
	for i := range l.series {
		rest = l.fill(&l.series[i], now, rest)
	}
	if len(rest) > 0 {
		rest[0] = math.NaN()
		if !l.start.IsZero() {
			rest[0] = at.Sub(l.start).Hours()
		}
	}
	for i, v := range row {
		if math.IsInf(v, 0) {
			row[i] = math.NaN()
		}
	}
	return nil
}

// fill writes the features of a signal and returns the rest of the row.
func (l *Life) fill(s *series, now int64, row []float64) []float64 {
	var window, short Moments
	var weights, weighted float64
	for back := range int64(len(s.steps)) {
		b := &s.steps[index64(now-back, len(s.steps))]
		if b.step != now-back {
			continue
		}
		weight := l.x.weights[back]
		weights += weight
		weighted += weight * b.x
		if back < int64(l.x.options.Short) {
			short.Merge(b.Moments)
		}
		window.Merge(b.Moments)
	}
	for i, kind := range l.x.perSignal {
		switch kind {
		case Mean:
			row[i] = window.Mean()
		case StdDev:
			row[i] = window.StdDev()
		case Trend:
			row[i] = window.Trend()
		case Last:
			row[i] = math.NaN()
			if window.n > 0 {
				row[i] = s.last
			}
		case ShortMean:
			row[i] = short.Mean()
		case BaselineDifference:
			row[i] = short.Mean() - s.base()
		case EWMA:
			row[i] = weighted / weights
		}
	}
	return row[len(l.x.perSignal):]
}

func (s *series) base() float64 {
	if s.given {
		return s.known
	}
	return s.baseline.Mean()
}

// Start returns when the life began, zero if that is not known.
func (l *Life) Start() time.Time { return l.start }

// Stats returns what became of the samples.
func (l *Life) Stats() Stats { return l.stats }

// Support returns the least number of samples that a signal has in the window that ends at a time, and the time of the oldest of
// the newest samples of the signals, zero while a signal has none. Signals that never change do not count.
func (l *Life) Support(at time.Time) (samples int, newest time.Time) {
	if !inRange(at) {
		return 0, newest
	}
	now := stepOf(at.UnixNano(), l.x.options.Step)
	samples, oldest := math.MaxInt, int64(math.MaxInt64)
	for i := range l.series {
		n := 0
		for _, b := range l.series[i].steps {
			if b.step <= now && now-b.step < int64(l.x.options.Window) {
				n += b.Count()
			}
		}
		samples, oldest = min(samples, n), min(oldest, l.series[i].lastAt)
	}
	if oldest != never {
		newest = time.Unix(0, oldest).UTC()
	}
	return samples, newest
}

// Baseline returns the baseline of each signal in the list of signals, for [Extractor.Resume]. It is NaN for signals without
// features and while there are too few steps.
func (l *Life) Baseline() []float64 {
	list := make([]float64, len(l.x.slots))
	for i, slot := range l.x.slots {
		list[i] = math.NaN()
		if slot.setting || slot.index < 0 {
			continue
		}
		if s := &l.series[slot.index]; s.given || s.based > l.x.options.Baseline {
			list[i] = s.base()
		}
	}
	return list
}
