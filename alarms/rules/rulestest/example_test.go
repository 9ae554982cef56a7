package rulestest_test

import (
	"testing"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alarms/rules/rulestest"
)

// A store of your own passes the suite in a test like this one.
func ExampleTestStore() {
	_ = func(t *testing.T) {
		rulestest.TestStore(t, func(testing.TB) (rules.Store, func() rules.Store) {
			return rules.NewMemory(nil), nil // nil: a Memory keeps nothing over a restart
		})
	}
	// Output:
}
