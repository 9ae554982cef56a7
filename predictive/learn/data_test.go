package learn_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// dataDir returns the folder of a public data set: in OTKIT_DATA, or in
// ../shared/data beside the repository. Where there is none, it skips.
func dataDir(tb testing.TB, set string) string {
	tb.Helper()
	root := os.Getenv("OTKIT_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "data")
	}
	dir := filepath.Join(root, set)
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("no data set %q: set OTKIT_DATA to the folder of the data sets", set)
	}
	return dir
}

// openData opens a file of a data set, which may be compressed.
func openData(tb testing.TB, path string) io.Reader {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	if filepath.Ext(path) != ".gz" {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}
