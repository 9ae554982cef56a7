package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/otkit/otkit/internal/datadir"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
)

// names of further files in a backup.
const (
	modelInBackup = "equipment_model.json"
	keysInBackup  = "signing-keys.json"
)

// backupFiles says where the files of a backup that are not in the database live.
func backupFiles(s settings.Engine) map[string]string {
	return map[string]string{
		modelInBackup: modelPath(s),
		keysInBackup:  filepath.Join(s.Storage.DataDir, keysInBackup),
	}
}

// backup writes the database, the model file and the signing keys to one file, also while an engine
// runs.
func (c *command) backup(ctx context.Context, args []string) error {
	f := c.flags("backup", "backup [-config FILE] [-data DIR] FILE   (also while the engine runs)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("backup takes the name of the file to write, after the flags")
	}
	if _, err := os.Lstat(f.Arg(0)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already; a backup does not replace it", f.Arg(0))
	}
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	if err := existing(s); err != nil {
		return err
	}
	db, err := openBeside(ctx, s)
	if err != nil {
		return err
	}
	files := backupFiles(s)
	for name, path := range files {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			delete(files, name) // an engine without configured tags has no model file
		}
	}
	err = writeWhole(f.Arg(0), func(w io.Writer) error { return db.Backup(ctx, w, storage.BackupOptions{Files: files}) })
	return errors.Join(err, db.Close())
}

// writeWhole writes a file beside its name and renames it once it is durable, so that a backup is whole
// or not there.
func writeWhole(path string, write func(io.Writer) error) (err error) {
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

// restore fills an empty data directory, or an empty PostgreSQL, from a backup.
func (c *command) restore(ctx context.Context, args []string) error {
	f := c.flags("restore", "restore [-config FILE] [-data DIR] FILE   (into an empty database)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("restore takes the name of the backup file, after the flags")
	}
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	archive, err := os.Open(f.Arg(0))
	if err != nil {
		return err
	}
	defer archive.Close()
	unlock, err := datadir.Lock(s.Storage.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	db, err := c.openStorage(ctx, s, nil)
	if err != nil {
		return err
	}
	paths := backupFiles(s)
	err = storage.Restore(ctx, archive, db, storage.RestoreOptions{TempDir: s.Storage.DataDir, File: func(name string, r io.Reader) error {
		path, known := paths[name]
		if !known {
			return fmt.Errorf("backup has a file %q that this version does not know", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return writeWhole(path, func(w io.Writer) error {
			_, err := io.Copy(w, r)
			return err
		})
	}})
	return errors.Join(err, db.Close())
}
