// Package realtest lets tests use real components where they are installed: a server, a broker, a
// browser. A missing one skips the test with one clear line; with OTKIT_REQUIRE_REAL=1 it fails the
// test instead, so that the project's own checks never pass by skipping.
package realtest

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
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

// FreePort returns a TCP port on 127.0.0.1 that is free, for a server that cannot be told to choose one itself, or that
// must have it again after a restart. It is below those that systems give to connections and to listeners without a port.
// Until the test ends, no other test is given it, in this process or another.
func FreePort(t testing.TB) int {
	t.Helper()
	const lowest, highest = 10_000, 32_000
	for range 1000 {
		port := lowest + rand.IntN(highest-lowest) //nolint:gosec // tests that run at the same time take different ones
		if !reserve(t, port) {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return 0
}

// reserve takes the UDP port of the same number until the test ends, on an address that no server of a test has, and reports whether it was free. Where there is no
// such address, it is not known who else has the port.
func reserve(t testing.TB, port int) bool {
	mark, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback, Port: port})
	if err != nil {
		return !errors.Is(err, syscall.EADDRINUSE)
	}
	t.Cleanup(func() { _ = mark.Close() })
	return true
}
