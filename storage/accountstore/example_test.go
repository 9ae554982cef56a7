package accountstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, accountstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := accountstore.New(db)
	if err != nil {
		panic(err)
	}
	err = store.AddAccount(ctx, accounts.Account{Name: "Anna", Role: accounts.Operator})
	if err != nil {
		panic(err)
	}
	a, err := store.Account(ctx, "anna")
	fmt.Println(a.Name, a.Role, err)
	// Output: Anna Operator <nil>
}
