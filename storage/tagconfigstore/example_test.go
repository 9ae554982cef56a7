package tagconfigstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
)

// A configuration that a database has, without a model file.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, tagconfigstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	repository, err := tagconfigstore.New(db)
	if err != nil {
		panic(err)
	}
	config, err := tagconfig.Open(ctx, tagconfig.Options{Repository: repository})
	if err != nil {
		panic(err)
	}
	r, err := config.Apply(ctx, tagconfig.Edit{Put: []tagconfig.Config{{TagID: "plc.speed", DriverID: "plc", DataType: tags.Float}}})
	fmt.Println(r.Added, r.Revision, err)
	again, err := tagconfig.Open(ctx, tagconfig.Options{Repository: repository})
	fmt.Println(again.List()[0].TagID, err)
	// Output:
	// 1 1 <nil>
	// plc.speed <nil>
}
