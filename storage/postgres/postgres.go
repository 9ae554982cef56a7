package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/otkit/otkit/storage"
)

// Options are the settings of a PostgreSQL database.
type Options struct {
	storage.Options

	DSN      string // URL or key=value form, as libpq takes it; connect_timeout is 10 s unless it says more or less
	MaxConns int    // connections, 4..1000, default 16
}

// Open connects to a database and brings its tables to the newest version.
func Open(ctx context.Context, opts Options) (*storage.DB, error) {
	if opts.MaxConns == 0 {
		opts.MaxConns = 16
	}
	if opts.MaxConns < 4 || opts.MaxConns > 1000 {
		return nil, storage.ErrOption.Because("MaxConns must be 4 to 1000")
	}
	config, err := pgx.ParseConfig(opts.DSN)
	if err != nil {
		return nil, storage.ErrOption.Because("DSN cannot be read").Wrap(err)
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "otkit"
	}
	if config.RuntimeParams["jit"] == "" {
		config.RuntimeParams["jit"] = "off" // compiling takes longer than the longest of our queries
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	config.DialFunc = dialer().DialContext
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(opts.MaxConns)
	pool.SetMaxIdleConns(opts.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	both := storage.Pools{Read: pool, Write: pool}
	return storage.New(ctx, dialect{}, both, both, opts.Options)
}
