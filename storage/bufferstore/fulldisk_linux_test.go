package bufferstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/storage"
)

// smallDisk mounts a disk of 12 MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m,mode=0700"); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			realtest.Skip(t, "a small disk can be mounted by root only")
		}
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill takes all space of a disk but so many bytes.
func fill(t *testing.T, dir string, left int64) string {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &s))
	path := filepath.Join(dir, "other")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = f.Write(make([]byte, max(int64(s.Bavail)*int64(s.Bsize)-left, 0))) //nolint:unconvert // types differ by system
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return path
}

func TestAFullDisk(t *testing.T) {
	for _, left := range []int64{0, 4096, 50_000} {
		dir := smallDisk(t)
		s := open(t, filepath.Join(dir, "buffer.db"))
		next := uint64(1)
		add := func() error {
			err := s.Append(t.Context(), s.Epoch(), []link.Block{block(next, 10, 8000)})
			if err == nil {
				next += 10
			}
			return err
		}
		for next < 3000 {
			require.NoError(t, add())
		}
		other := fill(t, dir, left)
		var err error
		for tries := 0; err == nil; tries++ {
			require.Less(t, tries, 2000)
			err = add()
		}
		require.ErrorIs(t, err, storage.ErrFull)
		require.ErrorIs(t, add(), storage.ErrFull)
		blocks := all(t, s)
		require.EqualValues(t, 1, blocks[0].First)
		require.Equal(t, next-1, blocks[len(blocks)-1].Last(), "what was refused is not there")

		require.NoError(t, s.Ack(t.Context(), s.Epoch(), 1500), "deleting works on a full disk")
		require.EqualValues(t, 1501, all(t, s)[0].First)
		require.NoError(t, s.Ack(t.Context(), s.Epoch(), 2000))
		require.EqualValues(t, 2001, all(t, s)[0].First)
		require.NoError(t, s.Ack(t.Context(), s.Epoch(), next-1))
		require.Empty(t, all(t, s))
		require.NoError(t, os.Remove(other))
		require.Eventually(t, func() bool { return add() == nil }, time.Minute, 10*time.Millisecond)
		require.NoError(t, s.Close(t.Context()))

		s = open(t, filepath.Join(dir, "buffer.db"))
		require.Len(t, all(t, s), 1)
		require.NoError(t, s.Close(t.Context()))
	}
}

// A buffer that is full opens on a disk that is full, and is delivered.
func TestOpenOnAFullDisk(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "buffer.db")
	s := open(t, path)
	for i := range uint64(300) {
		require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(1+i*10, 10, 8000)}))
	}
	require.NoError(t, s.Close(t.Context()))
	fill(t, dir, 0)
	s = open(t, path)
	require.Len(t, all(t, s), 300)
	require.NoError(t, s.Ack(t.Context(), s.Epoch(), 3000))
	require.Empty(t, all(t, s))
	require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(3001, 10, 8000)}), "what was given back is used")
}
