package auditstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, auditstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := auditstore.New(db)
	if err != nil {
		panic(err)
	}
	log, err := audit.New(store, audit.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = log.Close(ctx) }() // before the database
	err = log.Do(ctx, audit.Act{Actor: "anna", Action: "setRecipe", Objects: []string{"mixer-1"}}, func(context.Context) error { return nil }, nil)
	if err != nil {
		panic(err)
	}
	report, err := log.Verify(ctx)
	fmt.Println(report.Entries, report.Intact(), err)
	// Output: 2 true <nil>
}
