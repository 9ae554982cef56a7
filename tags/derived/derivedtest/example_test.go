package derivedtest_test

import (
	"testing"

	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/derived/derivedtest"
)

// A store of your own runs the suite in a test of its package.
func Example() {
	_ = func(t *testing.T) {
		derivedtest.TestRepository(t, func(testing.TB) derived.Repository { return derived.NewMemory() })
	}
	// Output:
}
