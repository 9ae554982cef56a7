package tagstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// BenchmarkDriver measures connecting, reads of 1, 100 and 500 points, and a write.
func BenchmarkDriver(b *testing.B, h DriverHarness) {
	if h.Timeout == 0 {
		h.Timeout = 10 * time.Second
	}
	b.Run("Connect", func(b *testing.B) {
		dev := newDevice(b, h)
		for b.Loop() {
			require.NoError(b, dev.d.Connect(b.Context()))
			require.NoError(b, dev.d.Close())
		}
	})
	for _, n := range []int{1, 100, 500} {
		b.Run(fmt.Sprintf("Read%d", n), func(b *testing.B) {
			dev := newDevice(b, h)
			n = min(n, dev.batch())
			points, out := make([]tags.Point, n), make([]tags.Reading, n)
			for i := range points {
				points[i] = h.Readable[i%len(h.Readable)]
			}
			dev.connect(b)
			b.ReportAllocs()
			for b.Loop() {
				clear(out)
				if err := dev.d.Read(b.Context(), points, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
	if len(h.Writable) == 0 {
		return
	}
	b.Run("Write", func(b *testing.B) {
		dev := newDevice(b, h)
		dev.connect(b)
		errs := make([]error, 1)
		for i := 0; b.Loop(); i++ {
			item := h.Writable[i%len(h.Writable)]
			if err := dev.d.Write(b.Context(), []tags.WriteItem{item}, errs); err != nil || errs[0] != nil {
				b.Fatal(err, errs[0])
			}
		}
	})
}
