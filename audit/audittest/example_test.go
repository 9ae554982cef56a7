package audittest_test

import (
	"testing"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/audit/audittest"
)

// A store of your own passes the suite in a test like this one.
func ExampleTestStore() {
	_ = func(t *testing.T) { // TestStore of your package
		audittest.TestStore(t, func(*testing.T) audit.Store { return audit.NewMemory() })
	}
}
