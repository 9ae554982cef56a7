package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/internal/program/users"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/sqlite"
)

// databaseFile is in the data directory.
const databaseFile = "bridge.db"

func schemas() []storage.Schema { return []storage.Schema{accountstore.Schema(), auditstore.Schema()} }

// users manages accounts.
func (c *command) users(ctx context.Context, args []string) error {
	var config string
	c.flags = map[string]any{}
	return users.Command{Program: "bridge", Roles: []string{"viewer", "admin"}, In: c.in, Out: c.out, ErrOut: c.errOut,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&config, "config", "", "`FILE` with settings, or folder with an appsettings.json")
			f.Func("data", "data directory `DIR` (default ./bridge-data)", c.set("storage.dataDir"))
		},
		Open: func(ctx context.Context, create bool) (*storage.DB, error) {
			return c.openAccounts(ctx, config, create)
		},
	}.Run(ctx, args)
}

// openAccounts opens the database of a bridge that may be running.
func (c *command) openAccounts(ctx context.Context, config string, create bool) (*storage.DB, error) {
	if err := c.readSettings(config, ""); err != nil {
		return nil, err
	}
	if err := c.problems.Err(); err != nil {
		return nil, err
	}
	dir := c.settings.Storage.DataDir
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
