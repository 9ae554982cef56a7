package features

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Extractor computes features as a [Fitter] found them fit for its data. It is immutable and safe for concurrent use.
type Extractor struct {
	options   Options
	signals   []Signal
	levels    levels
	kept      []int // signals with features
	slots     []slot
	settings  int
	perSignal []Kind
	names     []string
	weights   []float64 // of ewma by steps back
}

// slot is the place of a signal: among the settings, or among those with features, -1 for a signal that never changes.
type slot struct {
	setting bool
	index   int
}

// newExtractor returns an extractor of valid options and signals.
func newExtractor(o Options, signals []Signal, levels levels) *Extractor {
	x := &Extractor{options: o, signals: signals, levels: levels, weights: make([]float64, o.Window)}
	column := 0
	for i, s := range signals {
		place := slot{setting: s.Setting, index: x.settings}
		if s.Setting {
			x.settings++
		} else {
			if place.index = slices.Index(levels.columns, column); place.index >= 0 {
				x.kept = append(x.kept, i)
			}
			column++
		}
		x.slots = append(x.slots, place)
	}
	x.perSignal = slices.DeleteFunc(slices.Clone(o.Kinds), func(k Kind) bool { return k == Age })
	for _, i := range x.kept {
		for _, kind := range x.perSignal {
			x.names = append(x.names, signals[i].Name+"."+string(kind))
		}
	}
	if len(x.perSignal) < len(o.Kinds) {
		x.names = append(x.names, string(Age))
	}
	for i := range x.weights {
		x.weights[i] = math.Exp(-float64(i) / float64(o.Smooth))
	}
	return x
}

// Names returns the names of the columns, such as "pump1.pressure.trend"; the last one is "age".
func (x *Extractor) Names() []string { return slices.Clone(x.names) }

// Signals returns the signals in the order of their indices.
func (x *Extractor) Signals() []Signal { return slices.Clone(x.signals) }

// Dropped returns the names of the signals that never changed and have no features.
func (x *Extractor) Dropped() (names []string) {
	for i, s := range x.signals {
		if !s.Setting && !slices.Contains(x.kept, i) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Conditions returns the number of operating conditions, 1 where the settings tell no more.
func (x *Extractor) Conditions() int { return x.levels.conditions.Count() }

// Step returns the distance of rows.
func (x *Extractor) Step() time.Duration { return x.options.Step }

// Span returns how much history a row depends on, except for the baseline and the age.
func (x *Extractor) Span() time.Duration { return time.Duration(x.options.Window) * x.options.Step }

// Version returns a text that tells how features are computed. Features of the same version and names have the same
// meaning; those of different versions must not be mixed.
func (x *Extractor) Version() string {
	o := x.options
	return fmt.Sprintf("features/1 step=%s window=%d short=%d smooth=%d baseline=%d", o.Step, o.Window, o.Short, o.Smooth, o.Baseline)
}

// Begin returns the life of a unit that starts at a time. Its first samples make its baseline. For a zero start the age is
// NaN.
func (x *Extractor) Begin(start time.Time) *Life { return newLife(x, start) }

// Resume returns a life that started earlier, of which no samples before the window are known, and whose baseline is that of
// [Life.Baseline]. NaN or a missing element is a baseline that is not known.
func (x *Extractor) Resume(start time.Time, baseline []float64) *Life {
	l := newLife(x, start)
	for i := range l.series {
		l.series[i].given, l.series[i].known = true, math.NaN()
		if x.kept[i] < len(baseline) {
			l.series[i].known = baseline[x.kept[i]]
		}
	}
	return l
}
