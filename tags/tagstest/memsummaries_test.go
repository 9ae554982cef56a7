package tagstest_test

import (
	"context"
	"iter"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// memSummaries is a memHistory that is a history.Summarizer.
type memSummaries struct{ memHistory }

func (h *memSummaries) Summaries(ctx context.Context, tag string, start, end time.Time, nextCut func(time.Time) time.Time) iter.Seq2[*history.Summary, error] {
	switch h.defect {
	case "summaries over cuts":
		nextCut = func(time.Time) time.Time { return end }
	case "summaries beyond the end":
		end = end.Add(time.Minute)
	}
	return history.Summarize(h.summarized(ctx, tag, start, end), nextCut)
}

// summarized yields the samples that are summarized.
func (h *memSummaries) summarized(ctx context.Context, tag string, start, end time.Time) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		for s, err := range h.Range(ctx, tag, start, end) {
			switch {
			case h.defect == "summaries without bad samples" && err == nil && s.Quality == tags.Bad:
				continue
			case h.defect == "summaries without uncertain" && s.Quality == tags.Uncertain:
				s.Quality = tags.Good
			case h.defect == "summaries of ints as floats" && s.Value.Type() == tags.Int:
				s.Value = tags.FloatValue(float64(s.Value.Int()))
			}
			if !yield(s, err) {
				return
			}
		}
	}
}
