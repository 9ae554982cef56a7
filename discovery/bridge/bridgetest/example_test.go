package bridgetest_test

import (
	"testing"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/bridge/bridgetest"
)

// A harness that also has Reopen and Small lets the suite look at more.
func ExampleTestBuffer() {
	// In a test file of the buffer's package this function has a name, such as TestConformance.
	_ = func(t *testing.T) {
		bridgetest.TestBuffer(t, bridgetest.BufferHarness{
			Open: func(testing.TB) bridge.Buffer { return bridge.NewMemoryBuffer(1_000_000) },
		})
	}
	// Output:
}
