// Package npmtest provides tests with programs of the npm registry, to be run with node: the stock clients of
// what the engine speaks. They are installed once for each user, in the folder for caches.
package npmtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otkit/otkit/internal/realtest"
)

// Need returns a folder in whose node_modules packages are, each named with its version as in
// "ws@8.18.0". Scripts of packages are not run. Without node or npm, or when npm cannot install, the
// test is skipped, or fails where real components are required.
func Need(t testing.TB, pkgs ...string) (dir string) {
	t.Helper()
	realtest.Need(t, "node")
	npm := realtest.Need(t, "npm")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	dir = filepath.Join(cache, "otkit", "npmtest", strings.NewReplacer("/", "+", "\\", "+").Replace(strings.Join(pkgs, "&")))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir
	}
	if text, err := install(t, npm, dir, pkgs); err != nil {
		realtest.Skip(t, "npm cannot install "+strings.Join(pkgs, " ")+": "+err.Error()+"\n"+text)
	}
	return dir
}

// install makes the folder elsewhere and moves it, so that it is there only when it is complete.
func install(t testing.TB, npm, dir string, pkgs []string) (text string, err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(parent, "fresh")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, append([]string{"install", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save"}, pkgs...)...)
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(filepath.Join(dir, "node_modules")); there != nil {
			return "", err
		} // else another test was faster
	}
	return "", nil
}

// Command returns a command that runs a script with node, which finds the packages of a folder that
// Need gave. It ends with the test.
func Command(t testing.TB, dir, script string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), realtest.Need(t, "node"), append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	return cmd
}
