package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Freeze stops every process of the server: it takes connections and data, and answers nothing.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Cleanup(s.Thaw)
	s.signal(syscall.SIGSTOP)
}

// Thaw undoes Freeze.
func (s *Server) Thaw() {
	s.t.Helper()
	if s.cmd != nil {
		s.signal(syscall.SIGCONT)
	}
}

func (s *Server) signal(what syscall.Signal) {
	s.t.Helper()
	main := s.pid()
	if err := syscall.Kill(main, what); err != nil {
		s.t.Fatal(err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // pid (name) state ppid
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(main) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(pid, what) // it may just have ended
		}
	}
}
