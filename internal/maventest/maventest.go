// Package maventest provides tests with programs of Maven's central repository, such as generators of clients. They
// are fetched once for each user, into the folder for caches.
package maventest

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

// Need returns the path of a jar, named with its version as in
// "org.openapitools:openapi-generator-cli:7.10.0". Without java or mvn, or when Maven cannot fetch it, the
// test is skipped, or fails where real components are required.
func Need(t testing.TB, artifact string) (jar string) {
	t.Helper()
	realtest.Need(t, "java")
	mvn := realtest.Need(t, "mvn")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	parts := strings.Split(artifact, ":")
	dir := filepath.Join(cache, "otkit", "maventest")
	jar = filepath.Join(dir, strings.Join(parts[1:], "-")+".jar")
	if _, err := os.Stat(jar); err == nil {
		return jar
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Made elsewhere and moved, so that it is there only when it is complete.
	fresh, err := os.MkdirTemp(dir, "fresh")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "-q", "dependency:copy", "-Dartifact="+artifact, "-DoutputDirectory="+fresh)
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		realtest.Skip(t, "mvn cannot fetch "+artifact+": "+err.Error()+"\n"+string(out))
	}
	if err := os.Rename(filepath.Join(fresh, filepath.Base(jar)), jar); err != nil {
		t.Fatal(err)
	}
	return jar
}

// Command returns a command that runs a jar with java. It ends with the test.
func Command(t testing.TB, jar string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), realtest.Need(t, "java"), append([]string{"-jar", jar}, args...)...)
}
