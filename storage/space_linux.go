package storage

import (
	"os"
	"syscall"
)

// allocate allocates space for a file without writing it. It reports whether the file system can.
func allocate(f *os.File, size int64) bool {
	return syscall.Fallocate(int(f.Fd()), 0, 0, size) == nil
}
