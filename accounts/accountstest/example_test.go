package accountstest_test

import (
	"testing"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/accounts/accountstest"
)

// A store of your own passes the suite in a test like this one.
func ExampleTestStore() {
	_ = func(t *testing.T) { // TestStore of your package
		accountstest.TestStore(t, func(testing.TB) accountstest.Store { return accounts.NewMemory() })
	}
}
