package main

import (
	"context"
	"errors"
	"os"

	"github.com/otkit/otkit/internal/program"
)

// restore fills an empty data directory, or an empty PostgreSQL, from a backup.
func (c *command) restore(ctx context.Context, args []string) error {
	f := c.flags("restore", "restore [-config FILE] [-data DIR] FILE   (into an empty database)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("restore takes the name of the backup file, after the flags")
	}
	ctx, cancel := program.UntilSignal(ctx)
	defer cancel()
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	archive, err := os.Open(f.Arg(0))
	if err != nil {
		return err
	}
	defer archive.Close()
	defer context.AfterFunc(ctx, func() { _ = archive.Close() })() // a pipe may have nothing to read
	return dataSet(s).Restore(ctx, archive)
}
