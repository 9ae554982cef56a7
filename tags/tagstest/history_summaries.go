package tagstest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// testHistorySummaries compares what an optional Summaries yields with the samples that Range yields: numbers, texts and states with gaps, of all
// qualities, late and replaced.
func testHistorySummaries(t *testing.T, h historySuite) {
	summarizer, ok := h.Store.(history.Summarizer)
	if !ok {
		return
	}
	r := rand.New(rand.NewPCG(3, 4))
	names := []string{"float", "int", "bool", "string", "mixed"}
	places := make([]int, len(names))
	for round := range 40 {
		var batch []history.Sample
		for i, name := range names {
			for range r.IntN(300) {
				places[i] += 1 + r.IntN(3)
				at := places[i]
				switch {
				case r.IntN(40) == 0 && round < 35: // late, or again; the last rounds leave whole chunks alone
					at = r.IntN(places[i] + 1)
				case r.IntN(200) == 0:
					places[i] += 3000
				}
				batch = append(batch, randomSample(r, name, day0.Add(time.Duration(at)*1370*time.Millisecond)))
			}
		}
		h.put(t, batch...)
	}
	last := day0.Add(time.Duration(places[0]) * 1370 * time.Millisecond)
	for _, length := range []time.Duration{time.Second, 7 * time.Minute, 15 * time.Minute, time.Hour, 1000 * time.Hour} {
		for _, start := range []time.Time{day0.Truncate(time.Hour), day0.Add(17*time.Minute + 1)} {
			nextCut := func(t time.Time) time.Time { return start.Add((t.Sub(start)/length + 1) * length) }
			for _, name := range names {
				ends := []time.Time{last.Add(time.Hour), last.Add(-time.Minute), last.Add(-3 * time.Hour)}
				if length == time.Second {
					ends = []time.Time{start.Add(2 * time.Hour)} // or there are millions
				}
				for _, end := range ends {
					sameSummaries(t, h, summarizer, name, start, end, nextCut)
				}
			}
		}
	}
	count := 0
	for _, err := range summarizer.Summaries(t.Context(), "float", day0, last, func(t time.Time) time.Time { return t.Add(time.Second) }) {
		require.NoError(t, err)
		if count++; count == 3 {
			break
		}
	}
	require.Equal(t, 3, count, "the caller has enough")
	never := func(time.Time) time.Time { return always[1] }
	for _, err := range summarizer.Summaries(t.Context(), "nothing", always[0], always[1], never) {
		require.NoError(t, err)
		t.Fatal("a summary of a tag that was never stored")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range summarizer.Summaries(ctx, "float", day0, last, never) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func randomSample(r *rand.Rand, name string, at time.Time) history.Sample {
	s := history.Sample{Tag: name, Time: at, Quality: tags.Good}
	kind := name
	if name == "mixed" {
		kind = []string{"float", "int", "bool", "string", "bytes"}[r.IntN(5)]
	}
	switch kind {
	case "float":
		s.Value = tags.FloatValue(math.Round(r.NormFloat64()*1000) / 8)
	case "int":
		s.Value = tags.IntValue(int64(r.IntN(45)) - 20)
	case "bool":
		s.Value = tags.BoolValue(r.IntN(2) == 0)
	case "string":
		s.Value = tags.StringValue(fmt.Sprint("state ", r.IntN(6)))
	case "bytes":
		s.Value = tags.BytesValue([]byte{byte(r.IntN(3))})
	}
	switch n := r.IntN(600); {
	case n < 3:
		s.Quality, s.Reason = tags.Uncertain, tags.ReasonOutOfRange
	case n < 9:
		s.Quality, s.Reason = tags.Bad, tags.ReasonTimeout
		if n < 6 {
			s.Value = tags.Value{}
		}
	}
	return s
}

// sameSummaries compares the summaries of each interval.
func sameSummaries(t *testing.T, h historySuite, s history.Summarizer, tag string, start, end time.Time, nextCut func(time.Time) time.Time) {
	t.Helper()
	byCut := func(runs func(func(*history.Summary, error) bool)) (all []history.Summary) {
		var last time.Time
		for run, err := range runs {
			require.NoError(t, err, "Summaries of %q", tag)
			require.Positive(t, run.Samples)
			require.Equal(t, tag, run.First.Tag)
			require.Equal(t, tag, run.Last.Tag)
			require.True(t, run.First.Time.After(last), "a run of %q begins with %v, not after %v", tag, run.First.Time, last)
			last = run.Last.Time
			require.True(t, last.Before(nextCut(run.First.Time)), "a run of %q reaches over a cut", tag)
			if n := len(all); n > 0 && run.First.Time.Before(nextCut(all[n-1].First.Time)) {
				all[n-1].Append(run)
			} else {
				all = append(all, history.Summary{})
				all[n].Append(run)
			}
		}
		return all
	}
	want := byCut(history.Summarize(h.Range(t.Context(), tag, start, end), nextCut))
	got := byCut(s.Summaries(t.Context(), tag, start, end, nextCut))
	require.Len(t, got, len(want), "intervals of %q with samples", tag)
	for i := range want {
		w, g := &want[i], &got[i]
		require.Equal(t, w.Samples, g.Samples, "samples of %q from %v", tag, w.First.Time)
		requireSamples(t, []history.Sample{w.First, w.Last}, []history.Sample{g.First, g.Last}, "first and last")
		for _, uncertain := range []bool{false, true} {
			sameStats(t, *w.OfQuality(uncertain), *g.OfQuality(uncertain), tag, w.First.Time)
		}
	}
}

// sameStats compares sums of floats with room for the order in which they are added.
func sameStats(t *testing.T, w, g history.Stats, tag string, at time.Time) {
	t.Helper()
	for _, sum := range []struct {
		name  string
		w, g  *float64
		scale float64
	}{
		{"sum", &w.Sum, &g.Sum, float64(w.Numbers)}, {"squares", &w.Squares, &g.Squares, w.Squares},
		{"integral", &w.Stepped, &g.Stepped, w.HeldNumbers.Seconds()}, {"sloped integral", &w.Sloped, &g.Sloped, w.HeldNumbers.Seconds()},
	} {
		require.InDelta(t, *sum.w, *sum.g, 1e-9*(1+math.Abs(*sum.w)+200*sum.scale), "%s of %q from %v", sum.name, tag, at)
		*sum.g = *sum.w
	}
	require.True(t, w.FirstTime.Equal(g.FirstTime) && w.LastTime.Equal(g.LastTime), "times of %q from %v", tag, at)
	w.FirstTime, w.LastTime, g.FirstTime, g.LastTime = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	require.Equal(t, w, g, "%q from %v", tag, at)
}
