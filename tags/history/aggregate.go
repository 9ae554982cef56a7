package history

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// The limits of one call of Aggregate.
const (
	MaxAggregateTags      = 100
	MaxAggregateIntervals = 100_000 // of all tags together
)

// Function is one of the aggregates of an interval.
type Function string

// The functions, after OPC UA Part 13. They are of samples that count: those that are Good, and those that are
// Uncertain if the query says so.
const (
	Min             Function = "min"             // Minimum
	Max             Function = "max"             // Maximum
	Average         Function = "average"         // Average: of the samples, however long they hold
	TimeAverage     Function = "timeAverage"     // TimeAverage2: weighted with how long the values held
	Count           Function = "count"           // Count
	First           Function = "first"           // Start, of samples that count
	Last            Function = "last"            // End, of samples that count
	Range           Function = "range"           // Range: max - min
	StdDev          Function = "stdDev"          // StandardDeviationPopulation
	DurationGood    Function = "durationGood"    // DurationGood, in seconds
	DurationInState Function = "durationInState" // as DurationInStateZero and NonZero, for each value of a Bool, Int or String
)

// Functions lists the functions.
func Functions() []Function {
	return []Function{Min, Max, Average, TimeAverage, Count, First, Last, Range, StdDev, DurationGood, DurationInState}
}

// Fill is what min, max, average, timeAverage, first and last of an interval without samples are.
type Fill string

// The ways to fill. What is filled is the value at the start of the interval, as Interpolative of OPC UA Part 13 has it.
const (
	FillNone     Fill = "none"     // no value; a timeAverage is there if a value holds
	FillPrevious Fill = "previous" // the last value that counts
	FillLinear   Fill = "linear"   // on the line to the next one, where both are Ints or Floats; else the previous
)

// Query says which aggregates. Start, End and Period are required.
type Query struct {
	Start, End time.Time // Start <= time < End
	Period     Period
	// Zone aligns the intervals to the calendar there; the first and the last may be shorter. Default: they begin with Start, and
	// months and years are not possible.
	Zone *time.Location
	Fill Fill // default FillNone
	// Sloped lets Floats change steadily between two samples that count, for TimeAverage. Default: a value holds until the next sample.
	Sloped bool
	// Uncertain lets Uncertain samples count. Default: they are as Bad, as OPC UA Part 13 has it.
	Uncertain bool
	// Now is until when the last sample holds, if it is before End. Default: End.
	Now time.Time
}

// Interval has the aggregates of one tag in Start <= time < End.
type Interval struct {
	Tag        string
	Start, End time.Time
	Stats      Stats         // of the samples that count
	Known      time.Duration // the part of the interval that is not in the future
	Filled     bool
	bounds     bounds
	sloped     bool
	fill       tags.Value
}

// PercentGood returns for how much of the known time a value held that counts, 0 to 100.
func (i *Interval) PercentGood() float64 {
	if i.Known <= 0 {
		return 0
	}
	return 100 * float64(i.Stats.Held) / float64(i.Known)
}

// Quality returns Good if values that count held all the time, Bad if there were none, and otherwise Uncertain.
func (i *Interval) Quality() tags.Quality {
	switch {
	case i.Stats.Held == 0 && i.Stats.Count == 0:
		return tags.Bad
	case i.Stats.Held == i.Known:
		return tags.Good
	}
	return tags.Uncertain
}

// Value returns an aggregate; the zero Value if there is none, or it is beyond what a Float holds. DurationInState is in Stats.States.
func (i *Interval) Value(f Function) tags.Value {
	s := &i.Stats
	numbers := s.Numbers > 0
	switch {
	case f == Count:
		return tags.IntValue(s.Count)
	case f == DurationGood:
		return tags.FloatValue(s.Held.Seconds())
	case f == TimeAverage && s.HeldNumbers > 0 && i.sloped:
		return tags.FloatValue(i.average(s.Sloped, s.HeldNumbers.Seconds(), i.bounds))
	case f == TimeAverage && s.HeldNumbers > 0:
		return tags.FloatValue(i.average(s.Stepped, s.HeldNumbers.Seconds(), i.bounds))
	case f == TimeAverage && s.Count > 0:
		return tags.Value{} // the only sample is followed by another in no time
	case f == First && s.Count > 0:
		return s.First
	case f == Last && s.Count > 0:
		return s.Last
	case f == Min && numbers:
		return s.Min
	case f == Max && numbers:
		return s.Max
	case f == Average && numbers:
		return tags.FloatValue(i.average(s.Sum, float64(s.Numbers), bounds{}))
	case f == StdDev && numbers:
		return tags.FloatValue(s.deviation())
	case f == Range && numbers:
		return tags.FloatValue(s.width())
	}
	return i.filled(f)
}

// average returns a sum over its weight. Rounding must not take it beyond the values themselves: one that is constant is its own average.
func (i *Interval) average(sum, weight float64, b bounds) float64 {
	if i.Stats.Numbers > 0 {
		low, _ := i.Stats.Min.Float()
		high, _ := i.Stats.Max.Float()
		b.widen(low)
		b.widen(high)
	}
	if math.IsInf(sum, 0) { // it says nothing of the values
		return sum
	}
	return min(max(sum/weight, b.low), b.high)
}

// filled returns what a function without samples is.
func (i *Interval) filled(f Function) tags.Value {
	_, number := i.fill.Float()
	switch f {
	case First, Last:
		return i.fill
	case Min, Max:
		if number {
			return i.fill
		}
	case Average, TimeAverage:
		if v, ok := i.fill.Float(); ok {
			return tags.FloatValue(v)
		}
	}
	return tags.Value{}
}

// Aggregate returns a sequence for each tag: its intervals from Start to End, each once. It reads while it yields; an error ends the
// sequence. If the query is not valid, Aggregate returns [tags.ErrInvalidRequest] or [tags.ErrInvalidTimeRange]. With a [Summarizer] the cost
// follows the intervals, not the samples, if summaries fit the intervals; with a [NewestReader] the sample before Start is found cheaply.
func Aggregate(ctx context.Context, store Store, names []string, q Query) ([]iter.Seq2[Interval, error], error) {
	edges, err := q.edges(len(names))
	if err != nil {
		return nil, err
	}
	if q.Now.IsZero() || q.Now.After(q.End) {
		q.Now = q.End
	}
	all := make([]iter.Seq2[Interval, error], len(names))
	for i, name := range names {
		all[i] = func(yield func(Interval, error) bool) {
			a := aggregator{query: &q, tag: name, edges: edges, yield: yield}
			if err := a.run(ctx, store); err != nil {
				yield(Interval{}, err)
			}
		}
	}
	return all, nil
}

// edges returns the starts of the intervals and the end of the last.
func (q *Query) edges(names int) ([]time.Time, error) {
	var bad []fault.Field
	require := func(ok bool, field, rule string) {
		if !ok {
			bad = append(bad, fault.Field{Field: field, Message: rule})
		}
	}
	if q.Fill == "" {
		q.Fill = FillNone
	}
	require(names >= 1 && names <= MaxAggregateTags, "tag", fmt.Sprintf("must be there 1 to %d times", MaxAggregateTags))
	require(q.Period.valid(), "interval", "must be a number and one of ms, s, m, h, d, w, mo, y, at most 100 years")
	require(q.Zone != nil || q.Period.length() > 0, "timeZone", "is required for months and years")
	require(q.Fill == FillNone || q.Fill == FillPrevious || q.Fill == FillLinear, "fill", "must be none, previous or linear")
	require(q.End.Sub(q.Start) <= maxPeriod, "end", "must be at most 100 years after start")
	if len(bad) > 0 {
		return nil, tags.ErrInvalidRequest.Invalid(bad...)
	}
	if !q.Start.Before(q.End) {
		return nil, tags.ErrInvalidTimeRange
	}
	edges := []time.Time{q.Start}
	for t := q.Start; t.Before(q.End); edges = append(edges, t) {
		if t = q.Period.next(q.Start, t, q.Zone); t.After(q.End) {
			t = q.End
		}
		if len(edges)*names > MaxAggregateIntervals {
			return nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "interval",
				Message: fmt.Sprintf("must be longer: the tags would have more than %d intervals", MaxAggregateIntervals)})
		}
	}
	return edges, nil
}
