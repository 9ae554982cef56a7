package bridge_test

import (
	"testing"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/bridge/bridgetest"
)

var memoryHarness = bridgetest.BufferHarness{
	Open: func(testing.TB) bridge.Buffer { return bridge.NewMemoryBuffer(10_000_000) },
	Small: func(testing.TB) (bridge.Buffer, int) {
		return bridge.NewMemoryBuffer(1000), 1000 * 5100 / 20
	},
}

func TestMemoryBuffer(t *testing.T) { bridgetest.TestBuffer(t, memoryHarness) }

func BenchmarkMemoryBuffer(b *testing.B) {
	bridgetest.BenchmarkBuffer(b, bridgetest.BufferHarness{Open: func(testing.TB) bridge.Buffer { return bridge.NewMemoryBuffer(10_000_000) }})
}
