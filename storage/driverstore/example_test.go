package driverstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/storage/driverstore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags/drivers"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, driverstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := driverstore.New(db)
	if err != nil {
		panic(err)
	}
	if err := store.Insert(ctx, drivers.Definition{ID: "press", Type: "Modbus", IPAddress: "10.0.0.5", Revision: 1}); err != nil {
		panic(err)
	}
	all, _, err := store.Load(ctx)
	fmt.Println(len(all), all[0].Type, err)
	// Output: 1 Modbus <nil>
}
