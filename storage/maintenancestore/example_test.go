package maintenancestore_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/sqlite"
)

var at = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, maintenancestore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := maintenancestore.New(db)
	if err != nil {
		panic(err)
	}
	failure := predictive.Failure{ID: "1", EquipmentID: "pump-1", Component: "Bearing", Source: predictive.SourceManual, Start: at}
	if err := store.AddFailures(ctx, []predictive.Failure{failure}); err != nil {
		panic(err)
	}
	page, err := store.Failures(ctx, predictive.RecordQuery{EquipmentID: "pump-1"})
	fmt.Println(len(page.Items), page.Items[0].Component, err)
	// Output: 1 Bearing <nil>
}
