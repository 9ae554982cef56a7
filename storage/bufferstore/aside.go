package bufferstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// asideBytes returns the size of the damaged file that was put aside.
func (s *Store) asideBytes() (sum int64) {
	for _, suffix := range sqliteSuffixes {
		sum += sizeOf(s.o.Path + damagedSuffix + suffix)
	}
	return sum
}

// removeAside removes the damaged file: new samples need its space.
func (s *Store) removeAside() {
	path, size := s.o.Path+damagedSuffix, s.aside
	s.aside = 0 // what cannot be removed must not take the place of samples
	for _, suffix := range sqliteSuffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("failed to remove the damaged offline buffer", "error", err)
			return
		}
	}
	s.log.Warn("damaged offline buffer removed: samples need its space", "file", path, "bytes", size)
}

// sqliteSuffixes are what SQLite adds to the name of a database for its files. The database itself is last.
var sqliteSuffixes = []string{"-shm", "-wal", ""}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// isForeign reports whether a file is a database with a rollback journal, which a buffer never has. It is told from the header: to open the
// file would change it.
func isForeign(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 20)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.HasPrefix(head, []byte("SQLite format 3\x00")) && head[18] == 1 && head[19] == 1
}
