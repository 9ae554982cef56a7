package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/internal/datadir"
	"github.com/otkit/otkit/internal/dirlock"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/storage"
)

// migrate migrates the tables to this version, so that the engine can run with a role that may only read and change rows.
func (c *command) migrate(ctx context.Context, args []string) error {
	f := c.flags("migrate", "migrate [-config FILE] [-data DIR]   (with a role that may create tables)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return errors.New("migrate takes flags only")
	}
	ctx, cancel := program.UntilSignal(ctx)
	defer cancel()
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	if s.Storage.Driver == "sqlite" {
		unlock, err := dirlock.Lock(s.Storage.DataDir)
		if err != nil {
			return err
		}
		defer func() { _ = unlock() }()
	}
	if err := migrateTables(ctx, s); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, "the tables are of this version")
	return err
}

func migrateTables(ctx context.Context, s engineconfig.Engine) error {
	if err := datadir.CheckComplete(s.Storage.DataDir); err != nil {
		return err
	}
	db, err := s.Storage.Open(ctx, storage.Options{NoMaintenance: true}, s.Storage.StartWait, schemas()...)
	if err != nil {
		return err
	}
	return db.Close(ctx)
}
