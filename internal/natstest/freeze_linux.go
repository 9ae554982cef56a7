package natstest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Freeze stops the server: it takes connections and data, and answers nothing.
func (s *Server) Freeze() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	for end := time.Now().Add(5 * time.Second); !s.stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("nats-server does not stop")
		}
	}
}

func (s *Server) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	return err == nil && bytes.Contains(stat, []byte(") T ")) // pid (name) state
}

// Thaw undoes Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(what syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(what); err != nil {
		s.t.Fatal(err)
	}
}
