package tagstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagstore"
	"github.com/otkit/otkit/tags"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, tagstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := tagstore.New(db)
	if err != nil {
		panic(err)
	}
	w := tags.Write{ID: "1", Tag: "press.valve", Value: tags.FloatValue(0.5), By: "anna", State: tags.WriteQueued}
	if err := store.Put(ctx, []tags.Write{w}); err != nil {
		panic(err)
	}
	w, err = store.Get(ctx, "1")
	fmt.Println(w.Tag, w.Value, w.State, err)
	// Output: press.valve 0.5 Queued <nil>
}
