// Package dirlock locks the data directory of a server, so that a second server is refused.
package dirlock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// File is the file in the data directory that a running server holds a lock on.
const File = "engine.lock"

// Lock creates the directory if it is missing and takes its lock, which the system releases when the process ends, however it ends.
// If another server holds the lock, in this process too, Lock fails immediately.
func Lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, File), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	if !held {
		return nil, fmt.Errorf("data directory %s is in use by another server", dir)
	}
	return lock.Unlock, nil
}

type heldKey struct{}

// Held returns a context for engine.New which shows that the caller holds the lock of dir, and keeps it until the engine is closed.
func Held(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, heldKey{}, dir)
}

// IsHeld reports whether the context shows that the lock of dir is held.
func IsHeld(ctx context.Context, dir string) bool { return ctx.Value(heldKey{}) == dir }
