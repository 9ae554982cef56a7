package features

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/learn"
)

// Fitter reads the history once and makes an [Extractor] for it: it finds the operating conditions and the signals that never
// change. It keeps a sample of [Options].FitRows rows, one row being the newest value of each signal at the end of a step.
// It is used by one goroutine at a time.
type Fitter struct {
	options Options
	signals []Signal
	rows    []float64 // by row, signals side by side
	seen    int       // rows, of which a part is kept
	random  *rand.Rand
	held    []float64
	heldAt  []int64
	at      int64
	pending bool
}

// NewFitter returns a fitter for signals.
func NewFitter(signals []Signal, options Options) (*Fitter, error) {
	options, err := options.withDefaults()
	if err == nil {
		err = validate(signals)
	}
	if err != nil {
		return nil, err
	}
	f := &Fitter{options: options, signals: slices.Clone(signals), random: rand.New(rand.NewPCG(options.Seed, 1)),
		held: make([]float64, len(signals)), heldAt: make([]int64, len(signals))}
	f.Begin()
	return f, nil
}

// Begin tells that the samples that follow are of another unit or life.
func (f *Fitter) Begin() {
	f.flush()
	f.at = never
	for i := range f.held {
		f.held[i], f.heldAt[i] = math.NaN(), never
	}
}

// Add adds a sample as [Life.Add] does.
func (f *Fitter) Add(signal int, at time.Time, value float64) {
	if signal < 0 || signal >= len(f.held) || !usable(value) || !inRange(at) {
		return
	}
	nanos := at.UnixNano()
	if nanos <= f.heldAt[signal] || nanos < f.at {
		return
	}
	if f.at != never && stepOf(nanos, f.options.Step) != stepOf(f.at, f.options.Step) {
		f.flush()
	}
	f.held[signal], f.heldAt[signal] = value, nanos
	f.at, f.pending = nanos, true
}

// flush keeps the row of the step that ends, or not: each row is kept with the same probability (Vitter 1985, algorithm R).
func (f *Fitter) flush() {
	if !f.pending {
		return
	}
	f.pending = false
	f.seen++
	place := len(f.rows) / len(f.held)
	if place >= f.options.FitRows {
		if place = f.random.IntN(f.seen); place >= f.options.FitRows {
			return
		}
	} else {
		f.rows = append(f.rows, f.held...)
	}
	row := f.rows[place*len(f.held):][:len(f.held)]
	copy(row, f.held)
	for i, s := range f.signals {
		// A value from before the step may be of another operating condition.
		if !s.Setting && f.heldAt[i] <= f.at-int64(f.options.Step) {
			row[i] = math.NaN()
		}
	}
}

// Fit returns an extractor. If fewer than two rows were given or no signal ever changes, Fit returns an error that wraps
// [learn.ErrData].
func (f *Fitter) Fit(ctx context.Context) (*Extractor, error) {
	f.flush()
	rows := len(f.rows) / len(f.held)
	if rows < 2 {
		return nil, fmt.Errorf("features: %w: %d rows of raw data, want 2 or more", learn.ErrData, rows)
	}
	var settings, values []int
	for i, s := range f.signals {
		if s.Setting {
			settings = append(settings, i)
		} else {
			values = append(values, i)
		}
	}
	conditions, err := fitLevels(ctx, f.columns(settings), f.columns(values), f.options.Seed)
	if err != nil {
		return nil, fmt.Errorf("features: finding operating conditions: %w", err)
	}
	columns := changing(conditions)
	if len(columns) == 0 {
		return nil, fmt.Errorf("features: %w: no signal changes in %d rows of raw data", learn.ErrData, rows)
	}
	return newExtractor(f.options, f.signals, newLevels(conditions, columns)), nil
}

// columns returns a view of some signals.
func (f *Fitter) columns(signals []int) columns { return columns{f, signals} }

type columns struct {
	f       *Fitter
	signals []int
}

func (c columns) Dims() (rows, cols int) { return len(c.f.rows) / len(c.f.held), len(c.signals) }
func (c columns) At(i, j int) float64    { return c.f.rows[i*len(c.f.held)+c.signals[j]] }
