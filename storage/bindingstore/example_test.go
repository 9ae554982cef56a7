package bindingstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, bindingstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := bindingstore.New(db)
	if err != nil {
		panic(err)
	}
	b := discovery.Binding{BridgeID: "press-1", DriverID: "press", EngineID: "engine-1", URLs: []string{"http://10.0.0.5:5100"}}
	if err := store.AddBinding(ctx, b, link.Manifest{BridgeID: "press-1", DriverID: "press", DriverType: "Modbus"}); err != nil {
		panic(err)
	}
	all, err := store.Bindings(ctx)
	fmt.Println(len(all), all[0].DriverType, err)
	// Output: 1 Modbus <nil>
}
