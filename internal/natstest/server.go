package natstest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/otkit/otkit/internal/realtest"
)

// Server is a nats-server of one test.
type Server struct {
	t             testing.TB
	program, file string
	host          string
	port          int
	cmd           *exec.Cmd
}

// Start starts a server with some lines of configuration, without the port. It ends with the test. Without an installed nats-server the test is skipped, or
// fails where real components are required.
func Start(t testing.TB, config ...string) *Server {
	t.Helper()
	return StartAt(t, "127.0.0.1", config...)
}

// StartAt is Start on another address of this machine.
func StartAt(t testing.TB, host string, config ...string) *Server {
	t.Helper()
	s := &Server{t: t, program: realtest.Need(t, "nats-server", "/usr/sbin/nats-server"), host: host, port: realtest.FreePort(t),
		file: filepath.Join(t.TempDir(), "nats.conf")}
	s.Configure(config...)
	t.Cleanup(s.Kill)
	s.Start()
	return s
}

// Configure sets the configuration of the next start.
func (s *Server) Configure(config ...string) {
	s.t.Helper()
	text := fmt.Sprintf("listen: %s\n%s\n", s.Addr(), strings.Join(config, "\n"))
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// URL returns the server's URL, without TLS.
func (s *Server) URL() string { return "nats://" + s.Addr() }

// Start starts the server after Kill and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = exec.Command(s.program, "-c", s.file)
	var log strings.Builder
	s.cmd.Stderr = &log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !s.answers(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Kill()
			s.t.Fatalf("nats-server does not start:\n%s", log.String())
		}
	}
}

func (s *Server) answers() bool {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.HasPrefix(line, "INFO ")
}

// Kill ends the server as a power cut would.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
