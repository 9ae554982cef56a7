// Package piptest provides tests with programs of the Python Package Index, such as official checkers. They are installed
// once for each user, in the folder for caches.
package piptest

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

// Need returns the python of a virtual environment that has packages, each named with its version as in
// "aas-test-engines==1.0.3". Without python3, or when pip cannot install, the test is skipped, or fails where
// real components are required.
func Need(t testing.TB, pkgs ...string) (python string) {
	t.Helper()
	base := realtest.Need(t, "python3")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	dir := filepath.Join(cache, "otkit", "piptest", strings.Join(pkgs, "&"))
	python, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return python
	}
	// A virtual environment cannot be moved: the mark that it is complete is made last.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for _, args := range [][]string{{base, "-m", "venv", dir}, append([]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, pkgs...)} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			realtest.Skip(t, "pip cannot install "+strings.Join(pkgs, " ")+": "+err.Error()+"\n"+string(out))
		}
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return python
}
