package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// smallDisk mounts a file system of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			realtest.Skip(t, "a small disk can be mounted by root only")
		}
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill takes all the space that is left; the function gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path) //nolint:gosec // of the test
	require.NoError(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	return func() { require.NoError(t, os.Remove(path)) }
}

// What the engine cannot store it does not acknowledge: the bridge keeps it.
func TestFullDiskOfTheEngine(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	p := newPlant(t, options{engineData: filepath.Join(disk, "engine")})
	p.bind()
	p.device.counts(t, 50)
	free := fill(t, disk)
	p.device.counts(t, 150)
	time.Sleep(2 * time.Second)
	free()
	p.device.counts(t, 50)
	p.requireEach(p.complete())
}

// While the bridge's disk is full and its engine away, it keeps what it can in memory.
func TestFullDiskOfTheBridge(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	p := newPlant(t, options{bridgeData: filepath.Join(disk, "bridge")})
	p.bind()
	p.device.counts(t, 50)
	free := fill(t, disk)
	p.device.counts(t, 100)
	p.engine.kill()
	p.device.counts(t, 100)
	free()
	p.device.counts(t, 50)
	p.engine.start()
	p.login()
	p.linked(true)
	p.device.counts(t, 50)
	p.requireEach(p.complete())
}
