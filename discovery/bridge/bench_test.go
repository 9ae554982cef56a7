package bridge_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// BenchmarkCollect measures samples from the tag engine to a buffer in memory, encoded. Bare is the tag engine alone.
func BenchmarkCollect(b *testing.B) {
	for _, name := range []string{"Bare", "Host"} {
		b.Run(name, func(b *testing.B) {
			e, d := plant(b, 1)
			h, err := bridge.New(b.Context(), bridge.Options{ID: "b", Tags: e, DriverID: "press", Buffer: bridge.NewMemoryBuffer(100_000),
				StateFile: b.TempDir() + "/binding.json",
				Dial:      func(context.Context, string, []string) (link.BridgeConn, error) { return nil, errors.ErrUnsupported }})
			require.NoError(b, err)
			defer func() { require.NoError(b, h.Close(context.Background())) }()
			if name == "Host" {
				_, err := h.Bind(b.Context(), request("e"), "")
				require.NoError(b, err)
			}
			require.Eventually(b, func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.emit != nil
			}, waitLimit, waitStep)
			b.ResetTimer()
			for i := range b.N {
				d.set("a0", tags.IntValue(int64(i+1)))
				if i%1000 == 999 {
					require.NoError(b, h.Flush(b.Context()))
				}
			}
			require.NoError(b, h.Flush(b.Context()))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
