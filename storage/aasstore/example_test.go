package aasstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage/aasstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, aasstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := aasstore.New(db)
	if err != nil {
		panic(err)
	}
	shell := repository.Document{Kind: repository.KindShell, ID: "urn:example:press", IDShort: "Press", JSON: []byte("{}")}
	if _, err := store.Write(ctx, repository.Batch{Changes: []repository.Change{{Document: shell}}}); err != nil {
		panic(err)
	}
	found, err := store.Get(ctx, repository.KindShell, "urn:example:press")
	fmt.Println(found[0].IDShort, err)
	// Output: Press <nil>
}
