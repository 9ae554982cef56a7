package modelstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage/modelstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, modelstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := modelstore.New(db, modelstore.Options{})
	if err != nil {
		panic(err)
	}
	// In an application, a predictive.Service does this.
	if _, err := store.Put(ctx, predictive.Meta{ModelType: predictive.RULModel, Default: true}, []byte("model")); err != nil {
		panic(err)
	}
	m, data, err := store.Get(ctx, predictive.RULModel, 0)
	fmt.Println(predictive.FormatVersion(m.Version), len(data), err)
	// Output: v1 5 <nil>
}
