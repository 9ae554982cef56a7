package main_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

// binaries is the folder that the commands under test are built into.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for most of their time.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	pgtest.Stop()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// builtEnv is the variable with the command that was built, for a test in a network of its own, which is another process.
const builtEnv = "OTKIT_TEST_ENGINE"

// built builds the command, with the race detector when the tests run with it.
var built = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(builtEnv); path != "" {
		return path, nil
	}
	if raceDetector {
		return build("engine-race", "-race")
	}
	return build("engine")
})

// builtForSpeed builds it without, as users do.
var builtForSpeed = sync.OnceValues(func() (string, error) { return build("engine-plain") })

func build(name string, flags ...string) (string, error) {
	path := filepath.Join(binaries, name)
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

func binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	return path
}
