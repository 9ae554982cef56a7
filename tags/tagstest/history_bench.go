package tagstest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/history"
)

// BenchmarkHistoryStore measures appending in batches of 1,000 samples over 100 tags, and ranges of a
// tag with 100,000 samples.
func BenchmarkHistoryStore(b *testing.B, newStore func(testing.TB) history.Store) {
	b.Run("Append", func(b *testing.B) {
		h := historySuite{newStore(b)}
		batch := make([]history.Sample, 1000)
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprintf("line.tag%d", i)
		}
		at := day0
		b.ReportAllocs()
		for b.Loop() {
			for i := range batch {
				if i%len(names) == 0 {
					at = at.Add(time.Second)
				}
				batch[i] = sampleAt(names[i%len(names)], at, float64(i)*0.1)
			}
			if err := h.Append(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(batch))*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
	})

	const n = 100_000
	var h historySuite
	fill := func(b *testing.B) {
		h = historySuite{newStore(b)}
		for batch := range slices.Chunk(series("big", day0, n), 1000) {
			require.NoError(b, h.Append(b.Context(), batch))
		}
	}
	for _, size := range []int{100, n} {
		b.Run(fmt.Sprintf("Range%d", size), func(b *testing.B) {
			fill(b)
			start := day0.Add((n - time.Duration(size)) / 2 * time.Second)
			b.ReportAllocs()
			for b.Loop() {
				got := 0
				for _, err := range h.Range(b.Context(), "big", start, start.Add(time.Duration(size)*time.Second)) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != size {
					b.Fatalf("Range gave %d of %d samples", got, size)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
