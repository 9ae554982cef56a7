package history

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/tags"
)

// Summarizer is an optional part of a Store that answers aggregates without reading every sample.
type Summarizer interface {
	// Summaries yields the samples that Range yields as summaries of consecutive runs, in ascending order of time. No run has samples
	// on both sides of a cut: nextCut returns the first cut after a time. What is yielded is valid until the next one is. An error
	// ends the sequence.
	Summaries(ctx context.Context, tag string, start, end time.Time, nextCut func(time.Time) time.Time) iter.Seq2[*Summary, error]
}

// Summary is what aggregates need to know of a run of samples of one tag. The zero Summary is of no samples.
type Summary struct {
	Samples     int64
	First, Last Sample // of any quality
	Good        Stats  // of the Good samples
	Usable      *Stats // of those that are Good or Uncertain; nil if none is Uncertain, and then Good has them
}

// Stats are of those samples of a run that have a certain quality. A sample holds until the next sample, of any quality.
type Stats struct {
	Count               int64
	First, Last         tags.Value
	FirstTime, LastTime time.Time
	Held                time.Duration // how long the samples held, from the first sample of the run to its last

	// Of samples that are numbers; a Bool counts as 0 or 1.
	Numbers         int64
	Min, Max        tags.Value
	Sum             float64
	Squares         float64 // sum of the squared differences from the mean
	HeldNumbers     time.Duration
	Stepped, Sloped float64 // integrals over time, in seconds: of values that hold, and with Floats that change steadily until the next

	States     []State // of Bool, Int and String, in the order in which they were held
	ManyStates bool    // there were more than MaxStates, or a String beyond maxStateBytes: States is nil
}

// State is a value and how long it held.
type State struct {
	Value tags.Value
	Held  time.Duration
}

// MaxStates is the most states of an interval whose durations are told.
const MaxStates = 32

// maxStateBytes bounds the text of a state: a longer one is a message.
const maxStateBytes = 256

// OfQuality returns the statistics of the Good samples, or of the Good and the Uncertain.
func (s *Summary) OfQuality(uncertain bool) *Stats {
	if uncertain && s.Usable != nil {
		return s.Usable
	}
	return &s.Good
}

// Add adds a sample that is later than all others.
func (s *Summary) Add(next Sample) {
	if next.Quality == tags.Uncertain {
		s.divide()
	}
	if s.Samples == 0 {
		s.First = next
	} else {
		s.hold(&next)
	}
	s.Samples++
	s.Last = next
	if next.Quality == tags.Good {
		s.Good.add(&next)
	}
	if s.Usable != nil && next.Quality != tags.Bad {
		s.Usable.add(&next)
	}
}

// Append adds the samples of a run that follows.
func (s *Summary) Append(next *Summary) {
	if next.Samples == 0 {
		return
	}
	if next.Usable != nil {
		s.divide()
	}
	if s.Samples == 0 {
		s.First = next.First
	} else {
		s.hold(&next.First)
	}
	s.Samples += next.Samples
	s.Last = next.Last
	s.Good.merge(&next.Good)
	if s.Usable != nil {
		s.Usable.merge(next.OfQuality(true))
	}
}

// hold adds the time from the last sample to the next one.
func (s *Summary) hold(next *Sample) {
	if s.Last.Quality == tags.Good {
		s.Good.hold(&s.Last, s.Last.Time, next.Time, slopeOf(&s.Last, next, false))
	}
	if s.Usable != nil && s.Last.Quality != tags.Bad {
		s.Usable.hold(&s.Last, s.Last.Time, next.Time, slopeOf(&s.Last, next, true))
	}
}

// divide makes statistics of their own for what is not Bad.
func (s *Summary) divide() {
	if s.Usable == nil {
		both := s.Good
		both.States = slices.Clone(both.States)
		s.Usable = &both
	}
}

// counts reports whether samples of a quality count.
func counts(q tags.Quality, uncertain bool) bool {
	return q == tags.Good || uncertain && q == tags.Uncertain
}

// slopeOf returns by how much a value changes in a second until the next sample: 0 unless both are Floats that count.
func slopeOf(s, next *Sample, uncertain bool) float64 {
	if s.Value.Type() != tags.Float || next.Value.Type() != tags.Float || !counts(next.Quality, uncertain) {
		return 0
	}
	from, _ := s.Value.Float()
	to, _ := next.Value.Float()
	return (to - from) / next.Time.Sub(s.Time).Seconds()
}

func (s *Stats) add(next *Sample) {
	if s.Count == 0 {
		s.First, s.FirstTime = next.Value, next.Time
	}
	s.Count++
	s.Last, s.LastTime = next.Value, next.Time
	f, ok := next.Value.Float()
	if !ok {
		return
	}
	if s.Numbers == 0 {
		s.Numbers, s.Sum, s.Squares, s.Min, s.Max = 1, f, 0, next.Value, next.Value
		return
	}
	n := float64(s.Numbers)
	apart := f - s.Sum/n
	s.Squares += apart * apart * n / (n + 1)
	s.Sum += f
	s.Numbers++
	if less(next.Value, s.Min) {
		s.Min = next.Value
	} else if less(s.Max, next.Value) {
		s.Max = next.Value
	}
}

// hold adds the part of a sample's time from one time to another, both at or after the sample's own.
func (s *Stats) hold(of *Sample, from, until time.Time, slope float64) {
	d := until.Sub(from)
	if d <= 0 {
		return
	}
	s.Held += d
	if f, ok := of.Value.Float(); ok {
		s.HeldNumbers += d
		s.Stepped += f * d.Seconds()
		s.Sloped += (f + slope*(from.Sub(of.Time)+d/2).Seconds()) * d.Seconds()
	}
	switch of.Value.Type() {
	case tags.Bool, tags.Int, tags.String:
		s.state(of.Value, d)
	}
}

func (s *Stats) state(v tags.Value, d time.Duration) {
	if s.ManyStates {
		return
	}
	for i := range s.States {
		if s.States[i].Value == v {
			s.States[i].Held += d
			return
		}
	}
	if len(s.States) == MaxStates || len(v.Text()) > maxStateBytes {
		s.States, s.ManyStates = nil, true
		return
	}
	s.States = append(s.States, State{v, d})
}

// merge adds what follows, without the time between.
func (s *Stats) merge(next *Stats) {
	if next.Count > 0 {
		if s.Count == 0 {
			s.First, s.FirstTime = next.First, next.FirstTime
		}
		s.Last, s.LastTime = next.Last, next.LastTime
		s.Count += next.Count
	}
	if next.Numbers > 0 {
		s.mergeNumbers(next)
	}
	s.Held += next.Held
	s.HeldNumbers += next.HeldNumbers
	s.Stepped += next.Stepped
	s.Sloped += next.Sloped
	if next.ManyStates {
		s.States, s.ManyStates = nil, true
	}
	for _, state := range next.States {
		s.state(state.Value, state.Held)
	}
}

// mergeNumbers merges means and variances as in Chan, Golub, LeVeque: "Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances", 1979.
func (s *Stats) mergeNumbers(next *Stats) {
	if s.Numbers == 0 {
		s.Numbers, s.Sum, s.Squares, s.Min, s.Max = next.Numbers, next.Sum, next.Squares, next.Min, next.Max
		return
	}
	a, b := float64(s.Numbers), float64(next.Numbers)
	apart := next.Sum/b - s.Sum/a
	s.Squares += next.Squares + apart*apart*a*b/(a+b)
	s.Sum += next.Sum
	s.Numbers += next.Numbers
	if less(next.Min, s.Min) {
		s.Min = next.Min
	}
	if less(s.Max, next.Max) {
		s.Max = next.Max
	}
}

// less compares numbers; Ints keep their last digits.
func less(a, b tags.Value) bool {
	if a.Type() == tags.Int && b.Type() == tags.Int {
		return a.Int() < b.Int()
	}
	x, _ := a.Float()
	y, _ := b.Float()
	return x < y
}

// width returns how far the greatest number is from the least.
func (s *Stats) width() float64 {
	if s.Min.Type() == tags.Int && s.Max.Type() == tags.Int {
		return float64(uint64(s.Max.Int()) - uint64(s.Min.Int())) // the difference of any two fits
	}
	low, _ := s.Min.Float()
	high, _ := s.Max.Float()
	return high - low
}

// deviation returns the standard deviation of the population. Rounding of the mean must not make one of values that are all the same.
func (s *Stats) deviation() float64 {
	if s.width() == 0 {
		return 0
	}
	return math.Sqrt(s.Squares / float64(s.Numbers))
}

// Summarize makes summaries of samples in ascending order of time, as Summarizer has them.
func Summarize(samples iter.Seq2[Sample, error], nextCut func(time.Time) time.Time) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		var (
			run Summary
			cut time.Time
		)
		for s, err := range samples {
			if err != nil {
				yield(nil, err)
				return
			}
			if run.Samples > 0 && !s.Time.Before(cut) {
				if !yield(&run, nil) {
					return
				}
				run = Summary{}
			}
			if run.Samples == 0 {
				cut = nextCut(s.Time)
			}
			run.Add(s)
		}
		if run.Samples > 0 {
			yield(&run, nil)
		}
	}
}
