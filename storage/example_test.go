package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagstore"
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
	// The database has the tables of these schemas and no others.
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, tagstore.Schema(), historystore.Schema())
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := historystore.New(db, historystore.Options{})
	if err != nil {
		panic(err)
	}

	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err = store.Append(ctx, []history.Sample{
		{Tag: "press.force", Time: at, Value: tags.FloatValue(12.5), Quality: tags.Good},
		{Tag: "press.force", Time: at.Add(time.Second), Value: tags.FloatValue(13), Quality: tags.Good},
	})
	if err != nil {
		panic(err)
	}
	for s, err := range store.Range(ctx, "press.force", at, at.Add(time.Hour)) {
		fmt.Println(s.Time.Format(time.TimeOnly), s.Value, s.Quality, err)
	}
	// Output:
	// 03:04:05 12.5 Good <nil>
	// 03:04:06 13 Good <nil>
}

func ExampleRestore() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	open := func(name string) *storage.DB {
		db, err := sqlite.Open(ctx, sqlite.Options{Dir: filepath.Join(dir, name)}, tagstore.Schema())
		if err != nil {
			panic(err)
		}
		return db
	}
	from, to := open("from"), open("to")
	var archive bytes.Buffer
	fmt.Println(from.Backup(ctx, &archive, storage.BackupOptions{}))
	fmt.Println(storage.Restore(ctx, &archive, to, storage.RestoreOptions{}))
	fmt.Println(from.Close(ctx), to.Close(ctx))
	// Output:
	// <nil>
	// <nil>
	// <nil> <nil>
}
