package bufferstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage/bufferstore"
	"github.com/otkit/otkit/storage/sqlite"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	buffer, err := bufferstore.Open(ctx, sqlite.Files{}, bufferstore.Options{Path: filepath.Join(dir, "buffer.db"), MaxBytes: 100 << 20})
	if err != nil {
		panic(err)
	}
	fmt.Println(buffer.Append(ctx, buffer.Epoch(), []link.Block{{First: 1, Count: 2, Data: []byte("two entries")}}))
	stats, err := buffer.Stats(ctx)
	fmt.Println(stats.Entries, stats.MaxBytes, err)
	fmt.Println(buffer.Close(ctx))
	// Output:
	// <nil>
	// 2 104857600 <nil>
	// <nil>
}
