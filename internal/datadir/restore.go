package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/internal/dirlock"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/sqlite"
)

// stagingFolder is where a restore works, in the data directory. While it exists, a restore is running or was interrupted, and the
// engine does not start.
const stagingFolder = "restore.partial"

// movingFile is in the staging folder once a restore has begun to move files to their places.
const movingFile = "moving"

// databaseFiles are moved in this order: an engine takes a directory without the last for a new one.
var databaseFiles = [...]string{sqlite.HistoryFile, sqlite.StateFile}

// Restore fills an empty data directory, or an empty database elsewhere, from a backup. After an error, everything is as before.
func (s Set) Restore(ctx context.Context, archive io.Reader) (err error) {
	removeNew := undoCreation(s.Dir)
	unlock, err := dirlock.Lock(s.Dir)
	if err != nil {
		return err
	}
	defer func() {
		_ = unlock()
		if err != nil {
			removeNew()
		}
	}()
	return s.restore(ctx, archive)
}

// undoCreation returns a function that removes a data directory which does not exist yet, if nothing but the lock is in it.
func undoCreation(dir string) func() {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return func() {}
	}
	return func() {
		_ = os.Remove(filepath.Join(dir, dirlock.File))
		_ = os.Remove(dir)
	}
}

// restore restores in a staging folder and moves the files to their places at the end. PostgreSQL is
// restored in one transaction, which ends after the further files are in their places.
func (s Set) restore(ctx context.Context, archive io.Reader) (err error) {
	staging := filepath.Join(s.Dir, stagingFolder)
	p := &placing{staging: staging}
	if err := p.clear(s); err != nil {
		return err
	}
	if s.Embedded {
		for _, name := range databaseFiles {
			if _, err := os.Lstat(filepath.Join(s.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
				return errors.Join(err, storage.ErrNotEmpty.Because("%s exists; restore into another data directory", filepath.Join(s.Dir, name)))
			}
		}
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.undo()
		}
		err = errors.Join(err, os.RemoveAll(staging), syncFolder(s.Dir))
	}()
	staged := map[string]string{}
	o := storage.RestoreOptions{TempDir: staging, File: func(name string, r io.Reader) error {
		path, known := s.path(name)
		if !known {
			return fmt.Errorf("backup has an unknown file %q", name)
		}
		if !s.Embedded {
			return p.write(path, r)
		}
		staged[name] = path
		at := filepath.Join(staging, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		return WriteFile(at, func(w io.Writer) error {
			_, err := io.Copy(w, r)
			return err
		})
	}}
	db, err := s.Open(ctx, staging)
	if err != nil {
		return err
	}
	if err := errors.Join(storage.Restore(ctx, archive, db, o), db.Close(context.WithoutCancel(ctx))); err != nil || !s.Embedded {
		return err
	}
	return p.place(ctx, s, staged)
}
