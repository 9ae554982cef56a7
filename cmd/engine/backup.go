package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	otkit "github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/datadir"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/predictive/registry"
	"github.com/otkit/otkit/storage"
)

// dataSet returns what a backup of the engine holds.
func dataSet(s engineconfig.Engine) datadir.Set {
	const model, keys = "equipment_model.json", "signing-keys.json"
	return datadir.Set{
		Dir: s.Storage.DataDir, Embedded: s.Storage.Driver == "sqlite",
		Files:   map[string]string{model: s.ModelPath(), keys: filepath.Join(s.Storage.DataDir, keys)},
		Folders: map[string]datadir.Folder{otkit.ModelFolder: {Path: filepath.Join(s.Storage.DataDir, otkit.ModelFolder), Has: registry.IsVersionFile}},
		Open: func(ctx context.Context, dir string) (*storage.DB, error) {
			target := s.Storage
			target.DataDir = dir
			return target.Open(ctx, storage.Options{ForRestore: true}, 0, schemas()...)
		},
	}
}

// backup writes the database, the model file, the models of predictions and the signing keys to one file, also while an engine runs.
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
	ctx, cancel := program.UntilSignal(ctx) // so that a partial file is removed
	defer cancel()
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	db, err := openExisting(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(dataSet(s).Backup(ctx, f.Arg(0), db), db.Close(ctx))
}
