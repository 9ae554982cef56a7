package historystore_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, historystore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := historystore.New(db, historystore.Options{})
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err = store.Append(ctx, []history.Sample{{Tag: "press.force", Time: at, Value: tags.FloatValue(12.5), Quality: tags.Good}})
	if err != nil {
		panic(err)
	}
	for s, err := range store.Range(ctx, "press.force", at, at.Add(time.Hour)) {
		fmt.Println(s.Time.Format(time.TimeOnly), s.Value, s.Quality, err)
	}
	// Output: 03:04:05 12.5 Good <nil>
}
