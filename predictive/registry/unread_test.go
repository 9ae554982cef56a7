package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A version that cannot be read for a moment may be the one that serves.
func TestOnlyWhatWasReadCanBeDamaged(t *testing.T) {
	for _, err := range []syscall.Errno{syscall.EIO, syscall.EMFILE, syscall.EACCES} {
		require.True(t, unread(fmt.Errorf("model: %w", &fs.PathError{Op: "open", Path: "RUL_v2", Err: err})), err)
	}
	require.False(t, unread(fmt.Errorf("model: %w", &fs.PathError{Op: "lstat", Path: "RUL_v2", Err: syscall.ENOENT})), "it is gone")
	require.False(t, unread(errors.New("does not have the SHA-256 of its metadata")))
}
