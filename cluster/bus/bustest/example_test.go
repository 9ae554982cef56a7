package bustest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	// In a test of your own bus:
	_ = func(t *testing.T) {
		bustest.TestBus(t, func(*testing.T) (a, b bus.Bus) {
			plant := bus.NewMemory()
			return plant.Join(), plant.Join()
		})
	}
	// Output:
}

func TestMemory(t *testing.T) {
	bustest.TestBus(t, func(*testing.T) (a, b bus.Bus) {
		plant := bus.NewMemory()
		return plant.Join(), plant.Join()
	})
}
