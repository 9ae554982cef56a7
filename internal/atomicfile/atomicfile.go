// Package atomicfile replaces small files so that a crash leaves the old content or the new one.
package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Write makes data the content of the file at path, with mode 0600. When it returns nil, the content survives a loss of power. When it
// returns an error, the file may have the new content, but never a part of it.
func Write(path string, data []byte) error {
	temp := path + ".new" // one fixed name: a process that is killed again and again leaves at most one behind
	if err := write(temp, data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", filepath.Base(path), err), remove(temp))
	}
	return syncFolder(filepath.Dir(path))
}

func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes a rename durable, where the file system can.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
