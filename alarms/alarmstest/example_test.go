package alarmstest_test

import (
	"testing"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/alarmstest"
)

// A store of your own passes the suite in a test like this one.
func ExampleTestStore() {
	_ = func(t *testing.T) {
		alarmstest.TestStore(t, func(testing.TB) (alarms.Store, func() alarms.Store) {
			return alarms.NewMemory(), nil // nil: a Memory is empty after a restart
		})
	}
	// Output:
}
