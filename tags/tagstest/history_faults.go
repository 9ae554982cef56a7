package tagstest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

func testHistoryEarlyStop(t *testing.T, h historySuite) {
	want := series("a", day0, 2000)
	h.put(t, want...)
	for range 50 { // more often than a pool has connections
		n := 0
		for _, err := range h.Range(t.Context(), "a", always[0], always[1]) {
			require.NoError(t, err)
			if n++; n == 3 {
				break
			}
		}
		require.Equal(t, 3, n)
	}
	h.put(t, sampleAt("a", day0.Add(-time.Second), 1))
	requireCount(t, len(want)+1, h.all(t, "a"), "Range of all samples")
}

// testHistoryAppendWhileRanging appends and ranges from inside the loop over a range. A store that
// holds a lock or its only connection while it yields would wait for itself.
func testHistoryAppendWhileRanging(t *testing.T, h historySuite) {
	h.put(t, series("a", day0, 1000)...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		n := 0
		for _, err := range h.Range(t.Context(), "a", day0, day0.Add(1000*time.Second)) {
			if err != nil {
				t.Errorf("Range: %v", err)
				return
			}
			if n++; n%400 != 1 {
				continue
			}
			if err := h.Append(t.Context(), series("b", day0.Add(time.Duration(n)*time.Second), 1)); err != nil {
				t.Errorf("Append inside a loop over Range: %v", err)
			}
			for _, err := range h.Range(t.Context(), "b", always[0], always[1]) {
				if err != nil {
					t.Errorf("Range inside a loop over Range: %v", err)
				}
			}
		}
		if n != 1000 {
			t.Errorf("Range beside appends to another tag gave %d of 1000 samples", n)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Append or Range inside a loop over Range does not return")
	}
	requireCount(t, 3, h.all(t, "b"), "Range of all samples")
}

func testHistoryCanceledContext(t *testing.T, h historySuite) {
	const n = 20_000
	for batch := range slices.Chunk(series("a", day0, n), 2000) {
		h.put(t, batch...)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, h.Append(canceled, series("b", day0, 1)), "Append with a cancelled context")
	requireCount(t, 0, h.all(t, "b"), "what Append refused must not be stored")
	require.Error(t, h.Trim(canceled, always[1], 0), "Trim with a cancelled context")
	requireCount(t, n, h.all(t, "a"), "what Trim refused must not be removed")

	var failed error
	for _, err := range h.Range(canceled, "a", always[0], always[1]) {
		require.NoError(t, failed, "an error ends the sequence")
		failed = err
	}
	require.ErrorIs(t, failed, context.Canceled, "Range with a cancelled context")

	half, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := 0
	failed = nil
	for _, err := range h.Range(half, "a", always[0], always[1]) {
		require.NoError(t, failed, "an error ends the sequence")
		if failed = err; err != nil {
			continue
		}
		if got++; got == 10 {
			cancel()
		}
	}
	if failed == nil {
		require.Equal(t, n, got, "Range ended without an error, so it must have given everything")
	} else {
		require.ErrorIs(t, failed, context.Canceled, "Range whose context is cancelled on the way")
	}
	requireCount(t, n, h.all(t, "a"), "after the cancelled calls")
}

func testHistoryTrimByAge(t *testing.T, h historySuite) {
	a, b := series("a", day0, 3000), series("b", day0.Add(500*time.Millisecond), 100)
	old := series("old", day0.Add(-time.Hour), 100)
	h.put(t, slices.Concat(a, b, old)...)
	require.NoError(t, h.Trim(t.Context(), a[50].Time, 0))
	requireSamples(t, a[49:], h.all(t, "a"), "what is as old as the limit stays, and the one that holds until then")
	requireSamples(t, b[49:], h.all(t, "b"), "another tag is trimmed too")
	requireSamples(t, old[99:], h.all(t, "old"), "the last value of a tag still holds")
	require.NoError(t, h.Trim(t.Context(), a[50].Time, 0), "Trim again")
	require.NoError(t, h.Trim(t.Context(), always[0], 0), "Trim before all")
	requireSamples(t, a[49:], h.all(t, "a"), "after trims that have nothing to remove")
	requireSamples(t, old[99:], h.all(t, "old"), "after trims that have nothing to remove")
	h.put(t, old...)
	requireSamples(t, old, h.all(t, "old"), "old samples may be appended again")
	require.NoError(t, h.Trim(t.Context(), a[51].Time, 0))
	requireSamples(t, a[50:], h.all(t, "a"), "a later limit")
	requireSamples(t, old[99:], h.all(t, "old"), "a later limit")

	other := sampleAt("old", old[99].Time, -1)
	h.put(t, other)
	require.NoError(t, h.Trim(t.Context(), a[52].Time, 0))
	requireSamples(t, []history.Sample{other}, h.all(t, "old"), "what stays may be replaced")
	h.put(t, sampleAt("old", a[55].Time, 7))
	require.NoError(t, h.Trim(t.Context(), a[53].Time, 0))
	requireSamples(t, []history.Sample{other, sampleAt("old", a[55].Time, 7)}, h.all(t, "old"), "a newer one is not before the limit yet")
	require.NoError(t, h.Trim(t.Context(), a[60].Time, 0))
	requireSamples(t, []history.Sample{sampleAt("old", a[55].Time, 7)}, h.all(t, "old"), "a newer one is the last before the limit")

	require.NoError(t, h.Trim(t.Context(), always[1], 0))
	requireSamples(t, a[2999:], h.all(t, "a"), "Trim of everything")
	h.put(t, a[:1]...)
	requireSamples(t, []history.Sample{a[0], a[2999]}, h.all(t, "a"), "after Trim of everything")
}

// testHistoryTrimBySize uses values that cannot be compressed, so that their own bytes are a lower
// bound for the size of the store.
func testHistoryTrimBySize(t *testing.T, h historySuite) {
	const n, size, limit = 2000, 2048, 1 << 20
	random := rand.New(rand.NewPCG(3, 4))
	noise := func(tag string, start time.Time) []history.Sample {
		out := series(tag, start, n)
		for i := range out {
			value := make([]byte, size)
			for j := range value {
				value[j] = byte(random.Uint32())
			}
			out[i].Value = tags.BytesValue(value)
		}
		return out
	}
	older, newer := noise("older", day0), noise("newer", day0.Add(n*time.Second))
	for batch := range slices.Chunk(shuffled(slices.Concat(older, newer)), 500) {
		h.put(t, batch...)
	}
	require.NoError(t, h.Trim(t.Context(), always[0], 1<<40))
	requireCount(t, n, h.all(t, "older"), "a store below maxBytes loses nothing")

	require.NoError(t, h.Trim(t.Context(), always[0], limit))
	left := h.all(t, "newer")
	requireSamples(t, older[n-1:], h.all(t, "older"), "the oldest samples of all tags go first, but for the last of each")
	require.NotEmpty(t, left, "the newest samples stay")
	require.LessOrEqual(t, (1+len(left))*size, limit, "bytes of the values that are left")
	requireSamples(t, newer[n-len(left):], left, "the newest samples stay")

	h.put(t, older[0])
	requireCount(t, 2, h.all(t, "older"), "Append after Trim")
}
