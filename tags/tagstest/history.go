package tagstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// TestHistoryStore checks a store against the contract of history.Store, and of history.NewestReader and history.Summarizer if it is one. newStore makes an empty
// store and closes it with t.Cleanup; it is called for each part of the suite.
func TestHistoryStore(t *testing.T, newStore func(testing.TB) history.Store) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, historySuite)
	}{
		{"Empty", testHistoryEmpty},
		{"Order", testHistoryOrder},
		{"Bounds", testHistoryBounds},
		{"Precision", testHistoryPrecision},
		{"Values", testHistoryValues},
		{"Qualities", testHistoryQualities},
		{"Duplicates", testHistoryDuplicates},
		{"ManyTags", testHistoryManyTags},
		{"AwkwardNames", testHistoryAwkwardNames},
		{"ManySamples", testHistoryManySamples},
		{"CallersSlice", testHistoryCallersSlice},
		{"EarlyStop", testHistoryEarlyStop},
		{"Newest", testHistoryNewest},
		{"Summaries", testHistorySummaries},
		{"AppendWhileRanging", testHistoryAppendWhileRanging},
		{"CanceledContext", testHistoryCanceledContext},
		{"TrimByAge", testHistoryTrimByAge},
		{"TrimBySize", testHistoryTrimBySize},
		{"Concurrent", testHistoryConcurrent},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, historySuite{newStore(t)}) })
	}
}

// history is a store under test.
type historySuite struct{ history.Store }

var (
	day0   = time.Date(2024, 2, 28, 23, 59, 59, 0, time.UTC)
	always = [2]time.Time{time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
)

func (h historySuite) put(t testing.TB, samples ...history.Sample) {
	t.Helper()
	require.NoError(t, h.Append(t.Context(), samples), "Append of %d samples", len(samples))
}

// between returns the samples of a range and checks what holds for every range.
func (h historySuite) between(t testing.TB, tag string, start, end time.Time) []history.Sample {
	t.Helper()
	var out []history.Sample
	for s, err := range h.Range(t.Context(), tag, start, end) {
		require.NoError(t, err, "Range of %q", tag)
		require.Equal(t, tag, s.Tag, "tag of a sample in the range of %q", tag)
		require.False(t, s.Time.Before(start), "Range of %q gives %v, which is before its start %v", tag, s.Time, start)
		require.True(t, s.Time.Before(end), "Range of %q gives %v, which is not before its end %v", tag, s.Time, end)
		if len(out) > 0 {
			last := out[len(out)-1].Time
			require.True(t, s.Time.After(last), "Range of %q gives %v after %v", tag, s.Time, last)
		}
		out = append(out, s)
	}
	return out
}

func (h historySuite) all(t testing.TB, tag string) []history.Sample {
	t.Helper()
	return h.between(t, tag, always[0], always[1])
}

// requireCount does not print the samples, which may be many and long.
func requireCount(t testing.TB, want int, got []history.Sample, what string) {
	t.Helper()
	if len(got) != want {
		t.Fatalf("%s: %d samples, not %d", what, len(got), want)
	}
}

// requireSamples compares samples; times count as equal when they are the same instant.
func requireSamples(t testing.TB, want, got []history.Sample, what string) {
	t.Helper()
	requireCount(t, len(want), got, what)
	for i := range want {
		require.True(t, want[i].Time.Equal(got[i].Time), "%s: sample %d has time %v, not %v", what, i, got[i].Time, want[i].Time)
		w, g := want[i], got[i]
		w.Time, g.Time = time.Time{}, time.Time{}
		requireSame(t, w, g, "%s: sample %d", what, i)
	}
}

// requireSame compares what may hold long values, and prints only their beginnings.
func requireSame[T comparable](t testing.TB, want, got T, format string, args ...any) {
	t.Helper()
	if want != got {
		t.Fatalf("%s is %.300s, not %.300s", fmt.Sprintf(format, args...), fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}

func sampleAt(tag string, at time.Time, v float64) history.Sample {
	return history.Sample{Tag: tag, Time: at, Value: tags.FloatValue(v), Quality: tags.Good}
}

// series makes n samples of a tag, one each second from start.
func series(tag string, start time.Time, n int) []history.Sample {
	out := make([]history.Sample, n)
	for i := range out {
		out[i] = sampleAt(tag, start.Add(time.Duration(i)*time.Second), float64(i)+0.25)
	}
	return out
}

func shuffled(samples []history.Sample) []history.Sample {
	out := slices.Clone(samples)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func testHistoryEmpty(t *testing.T, h historySuite) {
	requireCount(t, 0, h.all(t, "nothing"), "Range of what was never stored")
	h.put(t)
	requireCount(t, 0, h.all(t, "nothing"), "Range of what was never stored")
	h.put(t, series("a", day0, 3)...)
	requireCount(t, 0, h.all(t, "nothing"), "a tag that was never stored")
	requireCount(t, 0, h.all(t, ""), "the empty tag name")
	require.NoError(t, h.Trim(t.Context(), day0, 0), "Trim with nothing to remove")
	requireCount(t, 3, h.all(t, "a"), "Range of all samples")
}

func testHistoryOrder(t *testing.T, h historySuite) {
	want := series("a", day0, 500)
	mixed := shuffled(want)
	h.put(t, mixed[:300]...) // out of order within a call and across calls
	h.put(t, mixed[300:301]...)
	h.put(t, mixed[301:]...)
	requireSamples(t, want, h.all(t, "a"), "Range after appends out of order")
}

func testHistoryBounds(t *testing.T, h historySuite) {
	s := series("a", day0, 10)
	h.put(t, s...)
	at := func(i int) time.Time { return s[i].Time }
	for _, c := range []struct {
		name       string
		start, end time.Time
		want       []history.Sample
	}{
		{"start inclusive, end exclusive", at(3), at(6), s[3:6]},
		{"one microsecond around", at(3).Add(time.Microsecond), at(6).Add(time.Microsecond), s[4:7]},
		{"one sample", at(3), at(3).Add(time.Microsecond), s[3:4]},
		{"start is end", at(3), at(3), nil},
		{"start after end", at(6), at(3), nil},
		{"before all", at(0).Add(-time.Hour), at(0), nil},
		{"after all", at(9).Add(time.Microsecond), at(9).Add(time.Hour), nil},
		{"wider than all", at(0).Add(-time.Hour), at(9).Add(time.Hour), s},
		{"another zone", at(3).In(time.FixedZone("", 9*3600)), at(6).In(time.FixedZone("", -3*3600)), s[3:6]},
	} {
		requireSamples(t, c.want, h.between(t, "a", c.start, c.end), c.name)
	}
}

func testHistoryPrecision(t *testing.T, h historySuite) {
	base := day0.Add(123456 * time.Microsecond)
	want := []history.Sample{
		sampleAt("a", time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC), 1), // before the Unix epoch
		sampleAt("a", time.Unix(0, 0).UTC(), 2),
		sampleAt("a", base, 3),
		sampleAt("a", base.Add(time.Microsecond), 4),
		sampleAt("a", base.Add(2*time.Microsecond), 5),
		sampleAt("a", time.Date(2150, 1, 1, 0, 0, 0, 1000, time.UTC), 6),
	}
	h.put(t, want...)
	requireSamples(t, want, h.all(t, "a"), "times to the microsecond")
	requireSamples(t, want[3:4], h.between(t, "a", want[3].Time, want[4].Time), "a range of one microsecond")

	fine := base.Add(789)
	h.put(t, sampleAt("fine", fine.In(time.FixedZone("", 5*3600+1800)), 1))
	got := h.all(t, "fine")
	requireCount(t, 1, got, "Range of all samples")
	require.Less(t, got[0].Time.Sub(fine).Abs(), time.Microsecond, "a time with nanoseconds in another zone")
}

func testHistoryDuplicates(t *testing.T, h historySuite) {
	h.put(t, sampleAt("a", day0, 1), sampleAt("b", day0, 7), sampleAt("a", day0, 2))
	requireSamples(t, []history.Sample{sampleAt("a", day0, 2)}, h.all(t, "a"), "twice in one call: the later wins")
	other := history.Sample{Tag: "a", Time: day0, Value: tags.StringValue("x"), Quality: tags.Uncertain, Reason: tags.ReasonStale}
	h.put(t, other)
	h.put(t, series("a", day0.Add(time.Second), 10)...)
	requireSamples(t, []history.Sample{other}, h.between(t, "a", day0, day0.Add(time.Second)), "in two calls: the later wins, with all that it says")
	h.put(t, sampleAt("a", day0.Add(5*time.Second), -1))
	got := h.all(t, "a")
	requireCount(t, 11, got, "Range of all samples")
	require.Equal(t, tags.FloatValue(-1), got[5].Value, "a sample inside what is stored is replaced")
	requireSamples(t, []history.Sample{sampleAt("b", day0, 7)}, h.all(t, "b"), "the same time of another tag")
}

func testHistoryManyTags(t *testing.T, h historySuite) {
	const count, each = 500, 20
	want := make(map[string][]history.Sample, count)
	var all []history.Sample
	for i := range count {
		name := fmt.Sprintf("line%d.tag%d", i%7, i)
		want[name] = series(name, day0.Add(time.Duration(i)*time.Millisecond), each)
		all = append(all, want[name]...)
	}
	for batch := range slices.Chunk(shuffled(all), 1500) {
		h.put(t, batch...)
	}
	for name, samples := range want {
		requireSamples(t, samples, h.all(t, name), name)
	}
}

func testHistoryManySamples(t *testing.T, h historySuite) {
	const n = 20_000
	want := series("big", day0, n)
	for batch := range slices.Chunk(want[:n/2], 1000) {
		h.put(t, batch...)
	}
	h.put(t, want[n/2:]...) // in one call
	requireSamples(t, want, h.all(t, "big"), "all samples")
	requireSamples(t, want[9_990:10_010], h.between(t, "big", want[9_990].Time, want[10_010].Time), "a small range inside")
}

func testHistoryCallersSlice(t *testing.T, h historySuite) {
	want := series("a", day0, 10)
	mine := slices.Clone(want)
	h.put(t, mine...)
	clear(mine)
	requireSamples(t, want, h.all(t, "a"), "after the caller reused its slice")
	got := h.all(t, "a")
	clear(got)
	requireSamples(t, want, h.all(t, "a"), "after the reader changed what it got")
}

func testHistoryConcurrent(t *testing.T, h historySuite) {
	const writers, batches, size = 4, 10, 50
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing, reading sync.WaitGroup
	for w := range writers {
		own := fmt.Sprintf("own%d", w)
		writing.Go(func() {
			for b := range batches {
				at := day0.Add(time.Duration(b*size) * time.Second)
				shared := series("shared", at.Add(time.Duration(w)*time.Millisecond), size)
				if err := h.Append(t.Context(), append(series(own, at, size), shared...)); err != nil {
					t.Errorf("Append: %v", err)
				}
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for ctx.Err() == nil {
				var last time.Time
				for s, err := range h.Range(t.Context(), "shared", always[0], always[1]) {
					if err != nil || !s.Time.After(last) {
						t.Errorf("Range beside appends: %v after %v, error %v", s.Time, last, err)
						return
					}
					last = s.Time
				}
			}
		})
	}
	writing.Wait()
	stop()
	reading.Wait()
	requireCount(t, writers*batches*size, h.all(t, "shared"), "Range of all samples")
	for w := range writers {
		requireCount(t, batches*size, h.all(t, fmt.Sprintf("own%d", w)), "Range of all samples")
	}
}
