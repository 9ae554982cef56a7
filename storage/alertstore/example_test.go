package alertstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/storage/alertstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, alertstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := alertstore.New(db)
	if err != nil {
		panic(err)
	}
	seq, err := store.Cursor(ctx)
	fmt.Println("planned up to event", seq, err)
	// Output: planned up to event 0 <nil>
}
