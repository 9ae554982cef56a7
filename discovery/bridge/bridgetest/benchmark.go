package bridgetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// Samples returns count samples of 100 tags, a millisecond apart, with numbers as a machine measures them.
func Samples(count int) []link.Entry {
	start := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	entries := make([]link.Entry, count)
	for i := range entries {
		entries[i].Sample = link.Sample{Tag: uint32(i % 100), Time: start.Add(time.Duration(i) * time.Millisecond),
			Value: tags.FloatValue(float64(i%977) * 0.37), Quality: tags.Good}
	}
	return entries
}

const batchEntries = 1000

// BenchmarkBuffer measures how many samples a buffer takes and gives back, 1,000 in each call.
func BenchmarkBuffer(b *testing.B, h BufferHarness) {
	entries := Samples(batchEntries)
	b.Run("Append", func(b *testing.B) {
		buffer := h.Open(b)
		next := uint64(1)
		b.ResetTimer()
		for b.Loop() {
			require.NoError(b, buffer.Append(b.Context(), buffer.Epoch(), []link.Block{{First: next, Count: batchEntries, Data: link.Encode(entries)}}))
			next += batchEntries
		}
		b.ReportMetric(float64(b.N)*batchEntries/b.Elapsed().Seconds(), "samples/s")
	})
	b.Run("Drain", func(b *testing.B) {
		buffer := h.Open(b)
		data := link.Encode(entries)
		const blocks = 1000
		last := uint64(0)
		for b.Loop() {
			b.StopTimer()
			for range blocks {
				require.NoError(b, buffer.Append(b.Context(), buffer.Epoch(), []link.Block{{First: last + 1, Count: batchEntries, Data: data}}))
				last += batchEntries
			}
			b.StartTimer()
			for after := last - blocks*batchEntries; after < last; {
				got, err := buffer.Peek(b.Context(), buffer.Epoch(), after, 256<<10)
				require.NoError(b, err)
				after = got[len(got)-1].Last()
				require.NoError(b, buffer.Ack(b.Context(), buffer.Epoch(), after))
			}
		}
		b.ReportMetric(float64(b.N)*blocks*batchEntries/b.Elapsed().Seconds(), "samples/s")
	})
}
