package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that makes the databases

	"github.com/otkit/otkit/internal/realtest"
)

// server is the one server of a test binary.
var server struct {
	once  sync.Once
	err   error
	dir   string
	cmd   *exec.Cmd
	alive io.Closer // the server ends when this is closed, by us or by our end
	count atomic.Int64
}

// Main runs the tests and ends the server. checks run after it, when the tests have passed; their
// exit code counts, such as that of a search for leaked goroutines.
func Main(m *testing.M, checks ...func() int) {
	code := m.Run()
	Stop()
	for _, check := range checks {
		if code == 0 {
			code = check()
		}
	}
	os.Exit(code)
}

// Stop ends the server, when there is one, and removes its folder. Main calls it.
func Stop() {
	if server.cmd == nil {
		return
	}
	if err := errors.Join(server.alive.Close(), server.cmd.Wait()); err != nil {
		fmt.Fprintf(os.Stderr, "stopping PostgreSQL: %v\n", err)
	}
	server.cmd = nil
}

// DSN returns a fresh empty database, which is dropped when the test ends. Without an installed
// PostgreSQL the test is skipped, or fails where real components are required.
func DSN(t testing.TB) string {
	t.Helper()
	bin := filepath.Dir(realtest.Need(t, "initdb", "/usr/lib/postgresql/*/bin/initdb"))
	server.once.Do(func() { server.err = start(bin) })
	if server.err != nil {
		t.Fatalf("PostgreSQL does not start: %v", server.err)
	}
	name := "test" + strconv.FormatInt(server.count.Add(1), 10)
	admin(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { admin(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	return dsn(name)
}

func dsn(database string) string { return dsnIn(server.dir, database) }

func dsnIn(dir, database string) string {
	q := url.Values{"host": {dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + q.Encode()
}

func admin(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", dsn("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// The shell ends the server when its standard input ends, so that no server outlives a test binary
// that is killed or runs into its time limit.
const startScript = `"$0"/initdb -D "$1"/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >"$1"/log 2>&1 || exit 1
"$0"/postgres -D "$1"/data -c listen_addresses= -c unix_socket_directories="$1" -c max_connections=200 -c fsync="$2" >>"$1"/log 2>&1 </dev/null &
read -r _
kill -QUIT $!
wait $!
rm -rf "$1"`

// fsync is the server's setting of whether it waits for the disk. Tests end servers and clients, never the machine,
// and that loses nothing that was written; only a benchmark has to pay for the disk.
func fsync() string {
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		return "on"
	}
	return "off"
}

// start makes a cluster and starts its server, on a socket in the folder and on no port.
func start(bin string) error {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return err
	}
	server.dir = dir
	cmd := exec.Command("/bin/sh", "-c", startScript, bin, dir, fsync())
	cmd.Dir = "/"
	if err := lend(cmd, dir); err != nil {
		return err
	}
	if server.alive, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	server.cmd = cmd
	return ready(dsn("postgres"), filepath.Join(dir, "log"))
}

// ready waits until the server answers.
func ready(dsn, log string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(log)
			return fmt.Errorf("%w\n%s", err, text)
		}
	}
}
