package driverstest_test

import (
	"testing"

	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/drivers/driverstest"
)

// A test of your own repository; here of the one in memory.
func Example() {
	var t *testing.T // of the test
	_ = func() {
		driverstest.TestRepository(t, func(testing.TB) drivers.Repository { return drivers.NewMemory() })
	}
	// Output:
}
