package derivedstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/storage/derivedstore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags/derived"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, derivedstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := derivedstore.New(db)
	if err != nil {
		panic(err)
	}
	position, err := store.Change(ctx, []derived.Document{{Kind: derived.Kind, ID: "line1.sum", Revision: 1, Body: []byte(`{}`)}}, nil)
	if err != nil {
		panic(err)
	}
	all, err := store.Documents(ctx, derived.Kind)
	fmt.Println(position, len(all), all[0].ID, err)
	// Output: 1 1 line1.sum <nil>
}
