package realtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Data returns the folder of a data set, such as idta: below the folder that OTKIT_DATA names, or else
// below ../shared/data beside the module. Without it the test is skipped, with OTKIT_REQUIRE_REAL=1 too,
// since data sets are not part of the repository.
func Data(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("OTKIT_DATA")
	if root == "" {
		root = filepath.Join(moduleRoot(t), "..", "shared", "data")
	}
	folder := filepath.Join(root, name)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Skip("the data set " + name + " is not there: set OTKIT_DATA to the folder above it")
	}
	return folder
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}
