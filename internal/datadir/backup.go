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
	"path/filepath"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/sqlite"
)

// Set is what a backup holds and a restore fills: a data directory, its database and further files.
type Set struct {
	Dir      string
	Embedded bool              // the database lies in Dir
	Files    map[string]string // paths of files that are not in the database, by their names in a backup

	// Open opens an empty database for a restore. An embedded one is created in dir.
	Open func(ctx context.Context, dir string) (*storage.DB, error)
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

// Backup writes the database and the files to path, also while an engine runs. A file that does not exist is omitted.
func (s Set) Backup(ctx context.Context, path string, db *storage.DB) error {
	files := maps.Clone(s.Files)
	for name, path := range files {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			delete(files, name) // an engine without configured tags has no model file
		}
	}
	return WriteFile(path, func(w io.Writer) error { return db.Backup(ctx, w, storage.BackupOptions{Files: files}) })
}
