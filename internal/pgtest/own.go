package pgtest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/otkit/otkit/internal/realtest"
)

// Server is a server of one test alone, which may kill it.
type Server struct {
	t        testing.TB
	bin, dir string
	address  string // that it also listens on; empty for none
	cmd      *exec.Cmd
	alive    io.Closer
}

const (
	initScript = `"$0"/initdb -D "$1"/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >"$1"/log 2>&1 &&
echo host all all all trust >>"$1"/data/pg_hba.conf`
	// A server that was killed leaves processes behind for a moment, beside which none starts (exit code 1).
	ownScript = `rm -f "$1"/ending
(while "$0"/postgres -D "$1"/data -c listen_addresses="$2" -c unix_socket_directories="$1" >>"$1"/log 2>&1 </dev/null
[ $? = 1 ] && [ ! -e "$1"/ending ]; do sleep 0.1; done) &
read -r _
: >"$1"/ending
read -r pid <"$1"/data/postmaster.pid && kill -QUIT "$pid" 2>/dev/null
wait
exit 0`
)

// Own starts a server, which ends with the test. Without an installed PostgreSQL the test is skipped,
// or fails where real components are required.
func Own(t testing.TB) *Server {
	t.Helper()
	return OwnAt(t, "")
}

// OwnAt is Own with a server that also listens on an address of the test's own network, on the usual port.
func OwnAt(t testing.TB, address string) *Server {
	t.Helper()
	s := &Server{t: t, bin: filepath.Dir(realtest.Need(t, "initdb", "/usr/lib/postgresql/*/bin/initdb")), address: address}
	var err error
	if s.dir, err = os.MkdirTemp("", "pgtest"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end()
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
	})
	cmd := s.command(initScript)
	if err := cmd.Run(); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	s.Start()
	return s
}

func (s *Server) command(script string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script, s.bin, s.dir, s.address)
	cmd.Dir = "/"
	if err := lend(cmd, s.dir); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// DSN returns the server's database, by its address if it has one.
func (s *Server) DSN() string {
	if s.address != "" {
		return "postgres://postgres@" + s.address + "/postgres?sslmode=disable"
	}
	return dsnIn(s.dir, "postgres")
}

// Kill ends the server as a power cut would.
func (s *Server) Kill() {
	s.t.Helper()
	process, err := os.FindProcess(s.pid())
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.end()
}

func (s *Server) pid() int {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// Socket returns the folder of the server's socket.
func (s *Server) Socket() string { return s.dir }

// Start starts the server again after Kill and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = s.command(ownScript)
	var err error
	if s.alive, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err == nil {
		err = ready(s.DSN(), filepath.Join(s.dir, "log"))
	}
	if err != nil {
		s.t.Fatalf("PostgreSQL does not start: %v", err)
	}
}

func (s *Server) end() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.alive.Close()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("stopping PostgreSQL: %v", err)
	}
	s.cmd = nil
}
