package accountstore_test

import (
	"testing"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/accounts/accountstest"
	"github.com/otkit/otkit/internal/storetest"
)

func TestAccounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		accountstest.TestStore(t, func(t testing.TB) accountstest.Store {
			db := fresh(t)
			return struct {
				accounts.Store
				accounts.SessionStore
			}{db.Accounts(), db.Sessions()}
		})
	})
}
