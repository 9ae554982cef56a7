package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/transport/metrics"
)

// openStorage opens the database that the settings name and brings its tables to the newest version. A
// command that is no engine passes no logger and no metrics: it leaves the upkeep of the history alone.
func (c *command) openStorage(ctx context.Context, s settings.Engine, e *environment) (*storage.DB, error) {
	if e == nil {
		return open(ctx, s, storage.Options{CompactAfter: -1})
	}
	return open(ctx, s, storage.Options{Logger: e.log, OnQuery: e.metrics.ObserveStore})
}

// openBeside opens the database of an engine that may be running, perhaps of another version: its
// tables are left as they are.
func openBeside(ctx context.Context, s settings.Engine) (*storage.DB, error) {
	return open(ctx, s, storage.Options{CompactAfter: -1, NoMigrate: true})
}

func open(ctx context.Context, s settings.Engine, o storage.Options) (*storage.DB, error) {
	if s.Storage.Driver == "postgres" {
		db, err := postgres.Open(ctx, postgres.Options{Options: o, DSN: s.Storage.DSN})
		if err != nil {
			return nil, fmt.Errorf("PostgreSQL: %w", err)
		}
		return db, nil
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Options: o, Dir: s.Storage.DataDir})
	if err != nil {
		return nil, fmt.Errorf("database in %s: %w", s.Storage.DataDir, err)
	}
	return db, nil
}

// existing refuses a data directory without a database. Opening would make one, also where the name of
// the directory is mistyped.
func existing(s settings.Engine) error {
	if s.Storage.Driver != "sqlite" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.Storage.DataDir, sqlite.StateFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database in %s; -data or -config says where it is", s.Storage.DataDir)
	}
	return nil
}

// environment is what a running engine gives its parts.
type environment struct {
	log     *slog.Logger
	metrics *metrics.Metrics
}

// settleWrites gives the writes that an earlier process left queued their last state. Another engine
// on the same PostgreSQL may have writes on their way right now, which are left alone.
func settleWrites(ctx context.Context, s settings.Engine, db *storage.DB, log *slog.Logger) error {
	before := time.Now()
	if s.Storage.Driver == "postgres" {
		before = before.Add(-5 * time.Minute)
	}
	n, err := db.Writes().MarkUnfinished(ctx, before)
	if n > 0 {
		log.Warn("tag writes of an earlier run have no known outcome; they are not repeated", "writes", n)
	}
	return err
}
