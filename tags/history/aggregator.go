package history

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/otkit/otkit/tags"
)

// aggregator makes the intervals of one tag from runs of its samples.
type aggregator struct {
	query *Query
	tag   string
	edges []time.Time
	yield func(Interval, error) bool

	at      int       // the interval that is filled
	known   time.Time // until when the last sample holds
	now     Stats     // of it
	bounds  bounds    // of the values in it
	last    Sample    // the newest before what comes next; without a time if there is none
	counted struct {
		value tags.Value
		time  time.Time
	} // the newest that counts
	waiting []Interval // for the next that counts: FillLinear
}

var errStopped = errors.New("the caller has enough")

// To fill intervals, the samples beyond the ends of the range are searched for one that counts: before Start in pages, the second of which has
// firstBeyond samples and each further one four times as many. The search stops after about maxBeyond samples.
const (
	firstBeyond = 16
	maxBeyond   = 100_000
)

// farAhead is later than what a device with a wrong clock sends.
const farAhead = 100 * 366 * 24 * time.Hour

func (a *aggregator) run(ctx context.Context, store Store) error {
	q := a.query
	a.known = q.Now
	if err := a.before(ctx, store); err != nil {
		return err
	}
	runs := Summarize(store.Range(ctx, a.tag, q.Start, q.End), a.nextCut)
	if s, ok := store.(Summarizer); ok {
		runs = s.Summaries(ctx, a.tag, q.Start, q.End, a.nextCut)
	}
	for run, err := range runs {
		if err == nil {
			err = a.add(run)
		}
		if err != nil {
			return endOf(err)
		}
	}
	return endOf(a.finish(ctx, store))
}

func endOf(err error) error {
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// nextCut returns the end of the interval that t is in.
func (a *aggregator) nextCut(t time.Time) time.Time {
	i := a.at
	if i+1 >= len(a.edges) || t.Before(a.edges[i]) || !t.Before(a.edges[i+1]) {
		i = sort.Search(len(a.edges)-1, func(i int) bool { return t.Before(a.edges[i+1]) })
	}
	return a.edges[min(i+1, len(a.edges)-1)]
}

// before reads the sample that holds at the start and, if intervals are filled, the newest that counts.
func (a *aggregator) before(ctx context.Context, store Store) error {
	begin, end := time.UnixMicro(0), a.query.Start
	reader, ok := store.(NewestReader)
	if !ok {
		for s, err := range store.Range(ctx, a.tag, begin, end) {
			if err != nil {
				return err
			}
			a.last = s
			a.count(&s)
		}
		return nil
	}
	for n, seen := 1, 0; seen < maxBeyond; n = min(max(firstBeyond, 4*n), maxBeyond) {
		list, err := reader.Newest(ctx, a.tag, begin, end, n)
		if err != nil {
			return err
		}
		for i := range list {
			a.count(&list[i])
		}
		if len(list) > 0 && seen == 0 {
			a.last = list[len(list)-1]
		}
		if len(list) < n || a.query.Fill == FillNone || !a.counted.time.IsZero() {
			return nil
		}
		seen, end = seen+n, list[0].Time
	}
	return nil
}

// count notes a sample before Start if it counts.
func (a *aggregator) count(s *Sample) {
	if counts(s.Quality, a.query.Uncertain) {
		a.counted.value, a.counted.time = s.Value, s.Time
	}
}

// add adds a run within one interval.
func (a *aggregator) add(run *Summary) error {
	if run.Last.Time.After(a.known) { // the clock of a device may be ahead
		a.known = run.Last.Time
	}
	if err := a.advance(run.First.Time, &run.First); err != nil {
		return err
	}
	of := run.OfQuality(a.query.Uncertain)
	if of.Count > 0 {
		if err := a.fillWaiting(of.First, of.FirstTime); err != nil {
			return err
		}
		a.counted.value, a.counted.time = of.Last, of.LastTime
	}
	a.now.merge(of)
	a.last = run.Last
	return nil
}

// advance lets the last sample hold until a time, over as many intervals as there are. next is the sample at that time, if it is known.
func (a *aggregator) advance(until time.Time, next *Sample) error {
	slope := 0.0
	holds := !a.last.Time.IsZero() && counts(a.last.Quality, a.query.Uncertain)
	if holds && next != nil {
		slope = slopeOf(&a.last, next, a.query.Uncertain)
	}
	for {
		from, end := a.edges[a.at], a.edges[a.at+1]
		if a.last.Time.After(from) {
			from = a.last.Time
		}
		if holds {
			a.hold(from, earliest(until, end, a.known), slope)
		}
		if until.Before(end) || a.at+2 == len(a.edges) {
			return nil
		}
		if err := a.emit(); err != nil {
			return err
		}
	}
}

// bounds are the least and the greatest number that a value that counts has where it holds across the edges of runs and intervals.
type bounds struct {
	low, high float64
	known     bool
}

// add adds what a sample is at a time.
func (b *bounds) add(s *Sample, at time.Time, slope float64) {
	if f, ok := s.Value.Float(); ok {
		b.widen(f + slope*at.Sub(s.Time).Seconds())
	}
}

func (b *bounds) widen(f float64) {
	if !b.known {
		*b = bounds{f, f, true}
	}
	b.low, b.high = min(b.low, f), max(b.high, f)
}

// hold lets the last sample hold between two times of one interval.
func (a *aggregator) hold(from, until time.Time, slope float64) {
	if !until.After(from) {
		return
	}
	a.now.hold(&a.last, from, until, slope)
	if !a.query.Sloped {
		slope = 0
	}
	a.bounds.add(&a.last, from, slope)
	a.bounds.add(&a.last, until, slope)
}

func earliest(first time.Time, more ...time.Time) time.Time {
	for _, t := range more {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

// emit ends the interval that is filled.
func (a *aggregator) emit() error {
	i := Interval{Tag: a.tag, Start: a.edges[a.at], End: a.edges[a.at+1], Stats: a.now, bounds: a.bounds, sloped: a.query.Sloped}
	i.Known = max(0, earliest(i.End, a.known).Sub(i.Start))
	a.now, a.bounds = Stats{}, bounds{}
	a.at++
	if i.Stats.Count == 0 && i.Known > 0 && a.query.Fill != FillNone && !a.counted.time.IsZero() {
		i.Filled, i.fill = true, a.counted.value
		if a.query.Fill == FillLinear {
			a.waiting = append(a.waiting, i)
			return nil
		}
	}
	if len(a.waiting) > 0 { // it comes after them
		a.waiting = append(a.waiting, i)
		return nil
	}
	return a.give(i)
}

func (a *aggregator) give(i Interval) error {
	if !a.yield(i, nil) {
		return errStopped
	}
	return nil
}

// fillWaiting fills the intervals that wait for a sample that counts.
func (a *aggregator) fillWaiting(next tags.Value, at time.Time) error {
	for _, i := range a.waiting {
		if i.Filled && isNumber(a.counted.value) && isNumber(next) {
			from, _ := a.counted.value.Float()
			to, _ := next.Float()
			share := i.Start.Sub(a.counted.time).Seconds() / at.Sub(a.counted.time).Seconds()
			i.fill = tags.FloatValue(from + (to-from)*share)
		}
		if err := a.give(i); err != nil {
			return err
		}
	}
	a.waiting = a.waiting[:0]
	return nil
}

func isNumber(v tags.Value) bool { return v.Type() == tags.Int || v.Type() == tags.Float }

// finish ends the last intervals.
func (a *aggregator) finish(ctx context.Context, store Store) error {
	var next, counting *Sample
	if a.query.Sloped || a.query.Fill == FillLinear {
		seen := 0
		for s, err := range store.Range(ctx, a.tag, a.query.End, a.query.End.Add(farAhead)) {
			if err != nil {
				return err
			}
			if next == nil {
				next = &s
			}
			if counts(s.Quality, a.query.Uncertain) {
				counting = &s
				break
			}
			if seen++; a.query.Fill != FillLinear || seen == maxBeyond {
				break
			}
		}
	}
	if err := a.advance(a.query.End, next); err != nil {
		return err
	}
	if err := a.emit(); err != nil {
		return err
	}
	if counting != nil {
		return a.fillWaiting(counting.Value, counting.Time)
	}
	for _, i := range slices.Clone(a.waiting) {
		if err := a.give(i); err != nil {
			return err
		}
	}
	return nil
}
