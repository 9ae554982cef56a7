package alarmstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, alarmstore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := alarmstore.New(db)
	if err != nil {
		panic(err)
	}
	service, err := alarms.New(ctx, store, alarms.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(ctx) }()
	o, err := service.Raise(ctx, alarms.Alarm{Key: "press/hot", Source: "press", Message: "too hot", Severity: alarms.Warning})
	fmt.Println(o.Code, o.Message, err)
	// Output: 1 too hot <nil>
}
