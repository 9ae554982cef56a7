package tagstest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/history"
)

// testHistoryNewest compares what an optional Newest returns with Range.
func testHistoryNewest(t *testing.T, h historySuite) {
	reader, ok := h.Store.(history.NewestReader)
	if !ok {
		return
	}
	same := func(tag string, start, end time.Time, n int) {
		t.Helper()
		want := h.between(t, tag, start, end)
		got, err := reader.Newest(t.Context(), tag, start, end, n)
		require.NoError(t, err)
		requireSamples(t, want[max(0, len(want)-n):], got, "the newest")
	}
	same("a", always[0], always[1], 5)
	h.put(t, sampleAt("b", day0.Add(time.Hour), 7)) // of another tag
	h.put(t, series("a", day0, 3000)...)
	later := series("a", day0.Add(2*time.Hour), 1500)
	h.put(t, shuffled(later)...)
	h.put(t, sampleAt("a", later[700].Time, -1), sampleAt("a", day0.Add(time.Hour), -2)) // one replaced, one between
	for _, n := range []int{1, 5, 1000, 1500, 1501, 1502, 4000, 10_000} {
		same("a", always[0], always[1], n)
		same("a", day0.Add(20*time.Minute), later[1200].Time, n)
	}
	same("a", day0.Add(90*time.Minute), day0.Add(100*time.Minute), 5) // nothing
	same("a", later[10].Time, later[20].Time, 100)
	same("a", later[10].Time.Add(1), later[20].Time.Add(1), 3) // between two microseconds
	same("a", later[20].Time, later[10].Time, 3)
	same("a", always[0], always[1], 0)
	same("nothing", always[0], always[1], 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := reader.Newest(ctx, "a", always[0], always[1], 3)
	require.Error(t, err, "its context has ended")
}
