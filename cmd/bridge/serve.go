package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/internal/dirlock"
	"github.com/otkit/otkit/internal/heapfloor"
	"github.com/otkit/otkit/internal/logging"
	"github.com/otkit/otkit/internal/program"
	release "github.com/otkit/otkit/internal/version"
)

// serve runs the bridge until a signal.
func (c *command) serve(ctx context.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // a small machine has more time than memory
	defer heapfloor.Trim(5 * time.Second)()
	lines := logging.NewBatch(c.errOut)
	defer func() { _ = lines.Close() }()
	var level slog.LevelVar
	log, running := c.loaded.Log.New(lines, &level), c.loaded.Bridge
	program.UseLog(log)
	defer program.OnHangup(func() { running.Reload(c.loaded.Files, c.loaded.Flags, &level, c.certificates.Load(), log) })()
	ctx, cancel := program.UntilSignal(ctx)
	defer cancel()
	err := c.locked(ctx, log)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the signal came before the bridge served
	}
	return err
}

// locked locks the data directory and opens the database for the run.
func (c *command) locked(ctx context.Context, log *slog.Logger) error {
	s := c.loaded
	unlock, err := dirlock.Lock(s.Storage.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	ctx = dirlock.Held(ctx, s.Storage.DataDir)
	id, err := bridgehost.EnsureID(s.Storage.DataDir)
	if err != nil {
		return err
	}
	o, certificates := s.Build(s.Problems, id, release.String(), log)
	c.certificates.Store(certificates)
	if err := s.Problems.Err(); err != nil {
		return err
	}
	db, err := s.OpenStores(ctx, &o, log)
	if err != nil {
		return err
	}
	if o.Buffer.Buffer, err = s.OpenBuffer(ctx, log); err == nil {
		err = c.runOn(ctx, o)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Server.ShutdownTimeout)
	defer cancel()
	if o.Buffer.Buffer != nil {
		err = errors.Join(err, o.Buffer.Buffer.Close(closing))
	}
	return errors.Join(err, db.Close(closing))
}

func (c *command) runOn(ctx context.Context, o bridgehost.Options) error {
	b, err := bridgehost.New(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprint(c.out, b.Welcome())
	return b.Run(ctx, c.loaded.Server.ShutdownTimeout)
}
