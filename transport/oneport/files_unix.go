//go:build unix

package oneport

import (
	"math"
	"syscall"
)

// openFiles returns the limit of open files of this process.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64 // no limit is known
	}
	return uint64(limit.Cur) //nolint:unconvert // it is signed on some systems
}
