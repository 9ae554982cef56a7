// Package datadir handles the data directory of a server: backup and restore.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/sqlite"
)

// Set is what a backup holds and a restore fills: a data directory, its database and further files.
type Set struct {
	Dir      string
	Embedded bool              // the database lies in Dir
	Files    map[string]string // paths of files that are not in the database, by their names in a backup
	Folders  map[string]Folder // with such files, by the names that they share in a backup

	// Open opens an empty database for a restore. An embedded one is created in dir.
	Open func(ctx context.Context, dir string) (*storage.DB, error)
}

// Folder is a folder with files that are not in the database.
type Folder struct {
	Path string
	Has  func(name string) bool // reports whether a file is part of a backup
}

// path returns the place of a file, and reports whether its name in a backup is known.
func (s Set) path(name string) (string, bool) {
	if path, ok := s.Files[name]; ok {
		return path, true
	}
	folder, file := path.Split(name)
	f, ok := s.Folders[strings.TrimSuffix(folder, "/")]
	return filepath.Join(f.Path, file), ok && f.Has(file)
}

// files returns the paths of all files by their names in a backup.
func (s Set) files() (map[string]string, error) {
	all := maps.Clone(s.Files)
	for folder, f := range s.Folders {
		entries, err := os.ReadDir(f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && f.Has(e.Name()) {
				all[folder+"/"+e.Name()] = filepath.Join(f.Path, e.Name())
			}
		}
	}
	return all, nil
}

// CheckComplete refuses a data directory in which a restore was interrupted.
func CheckComplete(dir string) error {
	_, err := os.Stat(filepath.Join(dir, stagingFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("a restore into %s was interrupted: repeat it", dir))
}

// ErrNoDatabase means that a data directory has no embedded database.
var ErrNoDatabase = errors.New("there is no database")

// CheckDatabase refuses a data directory without an embedded database. Opening would create one, also if the name of the directory
// is mistyped.
func CheckDatabase(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, sqlite.StateFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w in %s; -data or -config says where it is", ErrNoDatabase, dir)
	}
	return nil
}

// Backup writes the database and the files to a file, also while an engine runs. A file that does not exist is omitted.
func (s Set) Backup(ctx context.Context, target string, db *storage.DB) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	return WriteFile(target, func(w io.Writer) error { return db.Backup(ctx, w, storage.BackupOptions{Files: files}) })
}
