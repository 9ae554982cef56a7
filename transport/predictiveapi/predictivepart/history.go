package predictivepart

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// NewHistory returns a history of numbers. Booleans are 0 and 1; samples of other types are omitted, and so are those that were Bad without a
// value. Without a store there are no samples.
func NewHistory(store history.Store) predictive.History {
	if newest, ok := store.(history.NewestReader); ok {
		return newestNumbers{numbers{store}, newest}
	}
	return numbers{store}
}

type numbers struct{ store history.Store }

// Samples implements predictive.History.
func (h numbers) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		if h.store == nil {
			return
		}
		for stored, err := range h.store.Range(ctx, tag, from, to) {
			if err != nil {
				yield(predictive.Sample{}, err)
				return
			}
			if s, ok := numberOf(&stored); ok && !yield(s, nil) {
				return
			}
		}
	}
}

type newestNumbers struct {
	numbers
	newest history.NewestReader
}

// moreReads bounds how often Newest goes on after samples that cannot be used.
const moreReads = 4

// Newest implements predictive.NewestReader. Samples that cannot be used do not count.
func (h newestNumbers) Newest(ctx context.Context, tag string, from, to time.Time, n int) ([]predictive.Sample, error) {
	list := []predictive.Sample{} // the newest first
	for range moreReads {
		stored, err := h.newest.Newest(ctx, tag, from, to, n)
		if err != nil {
			return nil, err
		}
		for i := len(stored) - 1; i >= 0 && len(list) < n; i-- {
			if s, ok := numberOf(&stored[i]); ok && !s.Bad {
				list = append(list, s)
			}
		}
		if len(list) == n || len(stored) < n {
			break
		}
		to = stored[0].Time
	}
	slices.Reverse(list)
	return list, nil
}

// numberOf returns a sample as a number, and reports whether it is one. Uncertain values count: most are outside of the limits of the tag, where
// what fails goes.
func numberOf(s *history.Sample) (predictive.Sample, bool) {
	out := predictive.Sample{Time: s.Time, Bad: s.Quality == tags.Bad}
	if s.Value.Type() == tags.Bool {
		if s.Value.Bool() {
			out.Value = 1
		}
		return out, true
	}
	value, ok := s.Value.Float()
	out.Value = value
	return out, ok && !math.IsNaN(value) && !math.IsInf(value, 0)
}
