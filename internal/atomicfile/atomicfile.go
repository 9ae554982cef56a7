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

// TempSuffix is what the name of a temporary file ends with, after the name of the file that it is for. A process that is killed leaves one
// behind, which the next Write of the same file overwrites.
const TempSuffix = ".new"

// Write makes data the content of the file at path, with mode 0600. When it returns nil, the content survives a loss of power. When it
// returns an error, the file may have the new content, but never a part of it.
func Write(path string, data []byte) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return errors.Join(WriteIn(root, filepath.Base(path), data), root.Close())
}

// WriteIn is Write for the file of that name in an open folder.
func WriteIn(root *os.Root, name string, data []byte) error {
	temp := name + TempSuffix // one fixed name: a process that is killed again and again leaves at most one behind
	if err := write(root, temp, data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), remove(root, temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", name, err), remove(root, temp))
	}
	return SyncFolder(root)
}

func write(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func remove(root *os.Root, name string) error {
	if err := root.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// SyncFolder makes renames and removals in a folder durable, where the file system can.
func SyncFolder(root *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
