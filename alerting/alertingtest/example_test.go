package alertingtest_test

import (
	"testing"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/history"
)

// The suite runs as a test of the package that has the store.
func Example() {
	_ = func(t *testing.T) {
		alertingtest.TestHistoryStore(t, func(testing.TB) history.Store { return history.NewMemory() })
	}
	// Output:
}
