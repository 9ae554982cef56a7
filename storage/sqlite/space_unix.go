//go:build linux || darwin

package sqlite

import "syscall"

// freeSpace returns a function that returns the bytes of a folder's file system: those that are free for this
// process, and all.
func freeSpace(dir string) func() (free, total int64, err error) {
	return func() (int64, int64, error) {
		var s syscall.Statfs_t
		if err := syscall.Statfs(dir, &s); err != nil {
			return 0, 0, err
		}
		return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil //nolint:unconvert // types differ by system
	}
}
