//go:build !linux

package storage

import "os"

// allocate allocates space for a file without writing it. It reports whether the file system can.
func allocate(*os.File, int64) bool { return false }
