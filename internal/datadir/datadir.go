// Package datadir makes sure that one server at a time works in a data directory.
package datadir

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// LockFile is the file in the data directory that a running server holds a lock on.
const LockFile = "engine.lock"

// Lock makes the directory when it is missing and takes its lock, which the system gives back when
// the process ends, however it ends. It fails at once when another process has it.
func Lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, LockFile), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	if !held {
		return nil, fmt.Errorf("data directory %s is in use by another server", dir)
	}
	return lock.Unlock, nil
}
