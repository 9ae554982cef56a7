package pgtest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/otkit/otkit/internal/realtest"
)

// Pooler starts a PgBouncer in transaction mode before the database of a DSN that DSN gave, and returns the
// DSN of that database through it. It ends with the test. Without an installed PgBouncer the test is
// skipped, or fails where real components are required.
func Pooler(t testing.TB, dsn string) string {
	t.Helper()
	program := realtest.Need(t, "pgbouncer", "/usr/sbin/pgbouncer")
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pooler")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := realtest.FreePort(t)
	file := filepath.Join(dir, "pgbouncer.ini")
	// auth_type any takes the user of the server from the line of the database.
	text := fmt.Sprintf(`[databases]
* = host=%s user=%s
[pgbouncer]
pool_mode = transaction
listen_addr = 127.0.0.1
listen_port = %d
auth_type = any
unix_socket_dir =
default_pool_size = 8
max_client_conn = 500
`, u.Query().Get("host"), u.Query().Get("user"), port)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-q", file)
	cmd.Dir = "/"
	if err := lend(cmd, dir); err != nil { // it refuses root
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	q := u.Query()
	q.Set("host", "127.0.0.1")
	q.Set("port", strconv.Itoa(port))
	u.RawQuery = q.Encode()
	if err := ready(u.String(), filepath.Join(dir, "log")); err != nil {
		t.Fatalf("PgBouncer does not start: %v", err)
	}
	return u.String()
}
