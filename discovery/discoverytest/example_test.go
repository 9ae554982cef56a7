package discoverytest_test

import (
	"testing"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/discoverytest"
)

func ExampleTestStore() {
	_ = func(t *testing.T) { // TestMyStore of your package
		discoverytest.TestStore(t, func(testing.TB) discovery.Store { return discovery.NewMemory() })
	}
}
