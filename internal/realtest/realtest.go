// Package realtest lets tests use real components where they are installed: a server, a broker, a
// browser. A missing one skips the test with one clear line; with OTKIT_REQUIRE_REAL=1 it fails the
// test instead, so that the project's own checks never pass by skipping.
package realtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Required reports whether a missing component is a failure.
func Required() bool { return os.Getenv("OTKIT_REQUIRE_REAL") == "1" }

// Skip ends the test because of what is missing.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if Required() {
		t.Fatalf("%s (OTKIT_REQUIRE_REAL=1)", reason)
	}
	t.Skip(reason)
}

// Need returns the path of a program, looking in PATH and then at the given glob patterns (the last
// match wins, so that the newest version does).
func Need(t testing.TB, program string, globs ...string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, glob := range globs {
		if found, err := filepath.Glob(glob); err == nil && len(found) > 0 {
			return found[len(found)-1]
		}
	}
	Skip(t, program+" is not installed")
	return ""
}

// FreePort returns a TCP port on 127.0.0.1 that was free a moment ago, for a server that cannot be
// told to choose one itself.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
