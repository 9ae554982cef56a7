package bridgeconfig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/internal/program/users"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/sqlite"
)

// Users runs the command that manages the accounts of a bridge, also of one that is running.
func Users(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	config, values := "", map[string]any{}
	return users.Command{Program: "bridge", Roles: []string{"viewer", "admin"}, In: in, Out: out, ErrOut: errOut,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&config, "config", "", "`FILE` with settings, or folder with an appsettings.json")
			f.Func("data", "data directory `DIR` (default ./bridge-data)", func(dir string) error { values["storage.dataDir"] = dir; return nil })
		},
		Open: func(ctx context.Context, create bool) (*storage.DB, error) {
			l, err := Load(config, "", values, errOut)
			if err == nil {
				err = l.Problems.Err()
			}
			if err != nil {
				return nil, err
			}
			return l.openAccounts(ctx, create)
		},
	}.Run(ctx, args)
}

// openAccounts opens the database of a bridge that may be running. If there is none, it makes one if create is set.
func (b Bridge) openAccounts(ctx context.Context, create bool) (*storage.DB, error) {
	dir := b.Storage.DataDir
	_, err := os.Stat(filepath.Join(dir, databaseFile))
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew && !create { // opening would make one, also if the name of the directory is mistyped
		return nil, fmt.Errorf("there is no database in %s; -data or -config says where it is", dir)
	}
	if isNew {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return sqlite.Open(ctx, sqlite.Options{Options: storage.Options{NoMigrate: !isNew, NoMaintenance: true}, Dir: dir, State: databaseFile, Readers: 1}, schemas()...)
}
