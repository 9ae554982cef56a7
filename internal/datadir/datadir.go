// Package datadir handles the data directory of a server: the lock that keeps a second server out, backup and restore.
package datadir

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// LockFile is the file in the data directory that a running server holds a lock on.
const LockFile = "engine.lock"

// Lock creates the directory if it is missing and takes its lock, which the system releases when the process ends, however it ends.
// If another process holds the lock, Lock fails immediately.
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
