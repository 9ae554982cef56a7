package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// placing moves the files of a restore to their places, and undoes that.
type placing struct {
	staging string
	made    []string          // files and folders that were not there before
	old     map[string][]byte // what was in files that were replaced
}

// clear removes what an interrupted restore has left.
func (p *placing) clear(s Set) error {
	if _, err := os.Stat(filepath.Join(p.staging, movingFile)); err == nil && s.Embedded {
		for _, name := range databaseFiles { // there was none when the move began
			if err := os.Remove(filepath.Join(s.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return os.RemoveAll(p.staging)
}

// place moves the further files and then the database.
func (p *placing) place(ctx context.Context, s Set, files map[string]string) error {
	for _, name := range databaseFiles {
		if info, err := os.Stat(filepath.Join(p.staging, name+"-wal")); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s was not closed cleanly", name)
		}
		if err := syncFile(filepath.Join(p.staging, name)); err != nil {
			return err
		}
	}
	if err := errors.Join(ctx.Err(), os.WriteFile(filepath.Join(p.staging, movingFile), nil, 0o600), syncFolder(p.staging)); err != nil {
		return err
	}
	for name, path := range files {
		file, err := os.Open(filepath.Join(p.staging, name))
		if err != nil {
			return err
		}
		if err := errors.Join(p.write(path, file), file.Close()); err != nil {
			return err
		}
	}
	for _, name := range databaseFiles {
		path := filepath.Join(s.Dir, name)
		if err := os.Rename(filepath.Join(p.staging, name), path); err != nil {
			return err
		}
		p.made = append(p.made, path)
	}
	return syncFolder(s.Dir)
}

// write writes a further file in its place. It may be called twice for one file.
func (p *placing) write(path string, r io.Reader) error {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		p.made = append(p.made, folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	switch old, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		p.made = append(p.made, path)
	case err != nil:
		return err
	default:
		if p.old == nil {
			p.old = make(map[string][]byte)
		}
		if _, known := p.old[path]; !known {
			p.old[path] = old
		}
	}
	return WriteFile(path, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// undo puts everything back. It continues after errors.
func (p *placing) undo() {
	for path, old := range p.old {
		_ = WriteFile(path, func(w io.Writer) error {
			_, err := w.Write(old)
			return err
		})
	}
	for i := len(p.made) - 1; i >= 0; i-- {
		_ = os.Remove(p.made[i])
	}
}

// syncFile makes the content of a file durable.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// WriteFile writes a file beside its path and renames it once it is durable: after an error, the path is as it was.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600: it has secrets in it
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable. Windows does so by itself and cannot be asked to.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
