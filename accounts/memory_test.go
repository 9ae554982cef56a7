package accounts_test

import (
	"testing"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/accounts/accountstest"
)

func TestMemory(t *testing.T) {
	accountstest.TestStore(t, func(testing.TB) accountstest.Store { return accounts.NewMemory() })
}
