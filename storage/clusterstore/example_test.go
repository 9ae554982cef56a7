package clusterstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, clusterstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := clusterstore.New(db)
	if err != nil {
		panic(err)
	}
	if err := store.Renew(ctx, cluster.Session{ID: "1", Engine: "engine-1", Beat: 1}); err != nil {
		panic(err)
	}
	leases, err := store.Claim(ctx, "1", []string{"driver/press-1"})
	fmt.Println(leases, err)
	// Output: [{driver/press-1 1 1}] <nil>
}
