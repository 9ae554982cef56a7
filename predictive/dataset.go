package predictive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

// source is an equipment, or one of its tags, whose lives are learned from.
type source struct {
	inputs   []input
	lives    []life
	downtime []Interval
}

// plan tells what a table is made of.
type plan struct {
	signals  []features.Signal
	sources  []source
	division division
	options  features.Options
	// limit is the least remaining hours of a row of the training in a life that did not end by a failure: less is not known. horizon is that of
	// the test: what is farther from a failure is known not to be near one.
	limit, horizon float64
	// extractor, unless nil, is used instead of one that is fitted. With shape, rows are those of [shape] and none is fitted.
	extractor *features.Extractor
	shape     bool
	evenly    bool // rows of all lives are as far apart
	maxRows   int
	progress  func(done, total int)
}

// uses reports whether a row of a life is learned from or judges, by the hours to the end of the life.
func (p plan) uses(l life, at time.Time, left float64) bool {
	switch {
	case l.failed:
		return true
	case p.division.tests(l.group):
		return left > p.horizon && !at.Before(p.division.cut)
	default:
		return left > p.limit
	}
}

// table has the rows of lives, labelled with the hours to their ends.
type table struct {
	extractor *features.Extractor
	division  division
	data      *features.Dataset
	lives     map[features.Group]life // those with rows
}

// maxCells bounds the memory of a table: 8 bytes each.
const maxCells = 10_000_000

// build reads the history of the lives of the training and the test, those of the training twice if an extractor is fitted to them.
func (s *Service) build(ctx context.Context, p plan) (*table, error) {
	total, done := 0, 0
	for _, src := range p.sources {
		for _, l := range src.lives {
			if p.division.trains(l.group) && p.extractor == nil && !p.shape {
				total++
			}
			total++
		}
	}
	progress := func() {
		if done++; p.progress != nil {
			p.progress(done, total)
		}
	}
	t := &table{extractor: p.extractor, division: p.division, lives: make(map[features.Group]life)}
	var err error
	switch {
	case p.extractor != nil:
	case p.shape:
		t.extractor, err = newPlainExtractor(ctx, p.signals, p.options)
	default:
		t.extractor, err = s.fitExtractor(ctx, p, progress)
	}
	if err != nil {
		return nil, err
	}
	names := t.extractor.Names()
	if p.shape {
		names = shapeNames()
	}
	rows := max(min(p.maxRows, maxCells/len(names)), 1)
	o := features.DatasetOptions{MaxRows: rows, Step: t.extractor.Step()}
	if !p.evenly { // else healthy equipment would leave few rows before failures
		o.First = func(g features.Group) bool { return !t.lives[g].failed }
	}
	if t.data, err = features.NewDataset(names, o); err != nil {
		return nil, err
	}
	for _, src := range p.sources {
		for _, l := range src.lives {
			if p.division.trains(l.group) {
				l = p.division.known(l)
			}
			if p.division.trains(l.group) || p.division.tests(l.group) {
				if err := s.addLife(ctx, t, p, src, l); err != nil {
					return nil, err
				}
			}
			progress()
		}
	}
	return t, nil
}

// fitExtractor finds what features are computed with, from the lives of the training only.
func (s *Service) fitExtractor(ctx context.Context, p plan, progress func()) (*features.Extractor, error) {
	fitter, err := features.NewFitter(p.signals, p.options)
	if err != nil {
		return nil, err
	}
	for _, src := range p.sources {
		for _, l := range src.lives {
			if !p.division.trains(l.group) {
				continue
			}
			l = p.division.known(l)
			fitter.Begin()
			err := read(ctx, s.deps.History, src.inputs, l.from, l.end, func(signal int, at time.Time, value float64) error {
				if !within(src.downtime, at) {
					fitter.Add(signal, at, value)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			progress()
		}
	}
	return fitter.Fit(ctx)
}

// addLife adds a row for each step in which a life has samples.
func (s *Service) addLife(ctx context.Context, t *table, p plan, src source, l life) error {
	w := rowWriter{t: t, plan: p, life: l, features: t.extractor.Begin(l.start), row: make([]float64, len(t.extractor.Names()))}
	err := read(ctx, s.deps.History, src.inputs, l.from, l.end, func(signal int, at time.Time, value float64) error {
		if within(src.downtime, at) {
			return nil
		}
		return w.add(signal, at, value)
	})
	if err != nil {
		return err
	}
	return w.flush()
}

// rowWriter writes the row of a step when the next one begins.
type rowWriter struct {
	t        *table
	plan     plan
	life     life
	features *features.Life
	row      []float64
	end      time.Time // of the step, zero before the first sample
}

func (w *rowWriter) add(signal int, at time.Time, value float64) error {
	if at.After(w.end) {
		if err := w.flush(); err != nil {
			return err
		}
		w.end = stepEnd(at, w.t.extractor.Step())
	}
	w.features.Add(signal, at, value)
	return nil
}

// stepEnd returns the end of the step that a time is in. Steps are counted from 1970, as features do, and have their end but not their
// beginning.
func stepEnd(at time.Time, step time.Duration) time.Time {
	nanos, length := at.UnixNano(), int64(step)
	end := nanos - nanos%length
	if end < nanos {
		end += length
	}
	return time.Unix(0, end).UTC()
}

func (w *rowWriter) flush() error {
	if w.end.IsZero() {
		return nil
	}
	at := w.end
	if at.After(w.life.end) {
		at = w.life.end
	}
	left := w.life.end.Sub(at).Hours()
	if !w.plan.uses(w.life, at, left) {
		return nil
	}
	switch err := w.features.Row(at, w.row); {
	case errors.Is(err, features.ErrPast):
		return nil
	case err != nil:
		return err
	}
	row := w.row
	if w.plan.shape {
		row = shape(row)
	}
	w.t.lives[w.life.group] = w.life
	return w.t.data.Append(w.life.group, at, left, row)
}

func within(list []Interval, at time.Time) bool {
	return slices.ContainsFunc(list, func(i Interval) bool { return !at.Before(i.Start) && at.Before(i.End) })
}

// names of the columns of an extractor of one signal, whose name is pooledSignal.
const pooledSignal = "value"

// newPlainExtractor returns an extractor of signals without operating conditions, for any tags.
func newPlainExtractor(ctx context.Context, signals []features.Signal, o features.Options) (*features.Extractor, error) {
	o.Kinds = nil
	fitter, err := features.NewFitter(signals, o)
	if err != nil {
		return nil, err
	}
	fitter.Begin()
	at := time.Unix(0, 0)
	for i := range 3 { // an extractor is not made for a signal that never changes
		for j := range signals {
			fitter.Add(j, at.Add(time.Duration(i)*max(o.Step, time.Hour)), float64(i))
		}
	}
	return fitter.Fit(ctx)
}

func shapeNames() []string {
	return []string{"baselineDifference/stdDev", "trend/stdDev", "last/stdDev", "shortMean/stdDev", "ewma/stdDev", "stdDev/mean", "age"}
}

// shape returns features without the unit and the level of the tag, from a row of a pooled extractor, so that tags of different meaning can be
// learned from together.
func shape(row []float64) []float64 {
	const mean, stdDev, trend, last, shortMean, baseline, ewma, age = 0, 1, 2, 3, 4, 5, 6, 7
	d := row[stdDev]
	list := []float64{row[baseline] / d, row[trend] / d, (row[last] - row[mean]) / d, (row[shortMean] - row[mean]) / d,
		(row[ewma] - row[mean]) / d, d / max(row[mean], -row[mean]), row[age]}
	for i, v := range list {
		if !finite(v) {
			list[i] = nan
		}
	}
	return list
}

// subset is some rows of a view, as a [learn.Matrix].
type subset struct {
	view features.View // not embedded: its indices are others
	rows []int
}

func (s subset) Dims() (rows, cols int) {
	_, cols = s.view.Dims()
	return len(s.rows), cols
}
func (s subset) At(i, j int) float64        { return s.view.At(s.rows[i], j) }
func (s subset) Row(i int) []float64        { return s.view.Row(s.rows[i]) }
func (s subset) Time(i int) time.Time       { return s.view.Time(s.rows[i]) }
func (s subset) Label(i int) float64        { return s.view.Label(s.rows[i]) }
func (s subset) Weight(i int) float64       { return s.view.Weight(s.rows[i]) }
func (s subset) Group(i int) features.Group { return s.view.Group(s.rows[i]) }

// weights returns how many rows each row stands for, nil if all stand for as many.
func (s subset) weights() []float64 {
	list := make([]float64, len(s.rows))
	for i, row := range s.rows {
		list[i] = s.view.Weight(row)
	}
	if !slices.ContainsFunc(list, func(w float64) bool { return w != list[0] }) {
		return nil
	}
	return list
}

// common returns the rows that are left if all lives are thinned alike, for what takes no weights.
func (s subset) common() subset {
	r := subset{view: s.view}
	for _, row := range s.rows {
		if s.view.Common(row) {
			r.rows = append(r.rows, row)
		}
	}
	return r
}

// labels returns the hours to the ends of lives, at most limit.
func (s subset) labels(limit float64) []float64 {
	list := make([]float64, len(s.rows))
	for i := range list {
		list[i] = min(s.Label(i), limit)
	}
	return list
}

// near reports of each row whether its label is at most a horizon.
func (s subset) near(hours float64) []bool {
	list := make([]bool, len(s.rows))
	for i := range list {
		list[i] = s.Label(i) <= hours
	}
	return list
}

// only returns the rows whose life has a property.
func (s subset) only(keep func(features.Group) bool) subset {
	r := subset{view: s.view}
	for i, row := range s.rows {
		if keep(s.Group(i)) {
			r.rows = append(r.rows, row)
		}
	}
	return r
}

func (t *table) all() subset {
	v := t.data.All()
	n, _ := v.Dims()
	s := subset{view: v, rows: make([]int, n)}
	for i := range s.rows {
		s.rows[i] = i
	}
	return s
}

// isMissingData reports whether an error says that data cannot be learned from.
func isMissingData(err error) bool {
	return errors.Is(err, learn.ErrData) || errors.Is(err, errTooLittle)
}

// missingData returns the text of such an error, without what packages call it.
func missingData(err error) string {
	return strings.NewReplacer(errTooLittle.Error()+": ", "", learn.ErrData.Error()+": ", "", "features: ", "", "learn: ", "").Replace(err.Error())
}

var errTooLittle = errors.New("too little data")

func tooLittle(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errTooLittle, fmt.Sprintf(format, args...))
}
