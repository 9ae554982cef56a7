package registry_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/registry"
)

// smallDisk mounts a disk.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options+",mode=0700"); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			realtest.Skip(t, "a small disk can be mounted by root only")
		}
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// A server must start on a full disk.
func TestADirectoryIsMadeWhenThereIsSpace(t *testing.T) {
	disk := smallDisk(t, "nr_inodes=2")
	full := filepath.Join(disk, "full")
	require.NoError(t, os.WriteFile(full, nil, 0o600))
	r := open(t, registry.Options{Dir: filepath.Join(disk, "models")})
	require.Empty(t, versions(t, r))
	_, err := r.Put(t.Context(), predictive.Meta{ModelType: rul, Default: true}, []byte("x"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "nr_inodes=20"))
	put(t, r, true)
	serves(t, r, 1)
}

func TestAFullDisk(t *testing.T) {
	dir := smallDisk(t, "size=2m")
	r := open(t, registry.Options{Dir: dir, Keep: -1})
	add := func(size int) error {
		_, err := r.Put(t.Context(), predictive.Meta{ModelType: rul, Default: true}, bytes.Repeat([]byte("x"), size))
		return err
	}
	stored := 0
	for _, size := range []int{300_000, 100_000, 4000, 1} { // the last ones leave no space for the metadata
		for add(size) == nil {
			stored++
		}
		require.ErrorIs(t, add(size), syscall.ENOSPC)
		require.Len(t, versions(t, r), stored)
		require.Empty(t, damaged(t, r))
		require.Len(t, files(t, dir), 2*stored, "what was refused leaves nothing")
	}
	newest := versions(t, r)[0]
	serves(t, r, newest)
	require.NoError(t, r.Delete(t.Context(), rul, newest), "deleting works on a full disk")
	require.NoError(t, r.Delete(t.Context(), rul, 1))
	require.NoError(t, add(200_000))
	serves(t, r, newest+1)
}

func TestAPipeIsNoModel(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir})
	put(t, r, true)
	put(t, r, true)
	path := filepath.Join(dir, "RUL_v2")
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	serves(t, r, 1)
	require.NoError(t, os.Remove(path+".json"))
	require.NoError(t, os.Symlink(filepath.Join(dir, "RUL_v1.json"), path+".json"))
	serves(t, r, 1)
	require.Equal(t, []int{2}, damaged(t, r))
}
