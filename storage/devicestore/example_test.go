package devicestore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, devicestore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := devicestore.New(db)
	if err != nil {
		panic(err)
	}
	if err := store.AddDevice(ctx, devices.Device{ID: "agv-1", Name: "Transport robot", State: devices.Offline}); err != nil {
		panic(err)
	}
	all, err := store.Devices(ctx)
	fmt.Println(len(all), all[0].Name, err)
	// Output: 1 Transport robot <nil>
}
