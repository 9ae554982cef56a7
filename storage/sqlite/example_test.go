package sqlite_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagstore"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir}, tagstore.Schema())
	if err != nil {
		panic(err)
	}
	fmt.Println(db.Dialect(), db.Ping(context.Background()), db.Close(context.Background()))
	// Output: sqlite <nil> <nil>
}
