package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/otkit/otkit/storage"
)

// The files in the data directory, the first two each with a -wal and a -shm file while it is open.
const (
	StateFile   = "otkit.db"   // accounts, writes and everything else that was acknowledged
	HistoryFile = "history.db" // samples of tags
	ReserveFile = "reserve"    // space for the other files when the disk is full; reserve-vital is its second half
)

// Options are the settings of an embedded database.
type Options struct {
	storage.Options

	Dir     string // data directory, made when it is missing
	State   string // name of the file for state; default [StateFile]
	Readers int    // connections that read, per file; 1..64, default 4
}

// Open opens the database in a data directory, or makes it, with the tables of the schemas. Each set of tables that
// schemas have has a file. One process may have it open for writing; the caller ensures that.
func Open(ctx context.Context, opts Options, schemas ...storage.Schema) (*storage.DB, error) {
	if opts.Dir == "" {
		return nil, storage.ErrOption.Because("Dir is required")
	}
	if opts.Readers == 0 {
		opts.Readers = 4
	}
	if opts.Readers < 1 || opts.Readers > 64 {
		return nil, storage.ErrOption.Because("Readers must be 1 to 64, not %d", opts.Readers)
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if !opts.NoMigrate && opts.Space.Free == nil {
		opts.Space = storage.Space{Free: freeSpace(opts.Dir), ReserveFile: filepath.Join(opts.Dir, ReserveFile)}
		if err := opts.Space.Relieve(); err != nil {
			return nil, fmt.Errorf("reserve: %w", err)
		}
	}
	all := make(map[storage.SetName]storage.Pools)
	for _, s := range schemas {
		name, ok := files[s.Set]
		if _, open := all[s.Set]; open || !ok {
			continue // storage.New refuses an unknown set
		}
		if s.Set == storage.State {
			name = cmp.Or(opts.State, name)
		}
		p, err := pools(filepath.Join(opts.Dir, name), opts.Readers, walPages(opts.Options))
		if err != nil {
			for _, p := range all {
				err = errors.Join(err, p.Read.Close(), p.Write.Close())
			}
			return nil, err
		}
		all[s.Set] = p
	}
	return storage.New(ctx, dialect{}, all, opts.Options, schemas...)
}

// files has the file of each set.
var files = map[storage.SetName]string{storage.State: StateFile, storage.History: HistoryFile}

const (
	pageBytes = 4096 // the default of SQLite
	minWAL    = 64   // pages
	maxWAL    = 2000 // pages
)

// walPages returns how many pages the write-ahead log of a file should have at most. The logs of both files take at most
// half of the reserve, so that on a small disk they do not use it up.
func walPages(o storage.Options) int {
	if o.Space.Free == nil {
		return maxWAL
	}
	_, total, err := o.Space.Free()
	if err != nil {
		return maxWAL
	}
	o.Reserve = max(o.Reserve, 0) // without a reserve the logs are as large as with the default one
	return int(min(max(o.ReserveSize(total)/4/pageBytes, minWAL), maxWAL))
}

// pools opens one file: one connection that writes, since SQLite has one writer at a time and callers
// wait better in our queue than in its lock, and several that read.
func pools(file string, readers, wal int) (storage.Pools, error) {
	if err := touch(file); err != nil {
		return storage.Pools{}, err
	}
	// FULL: a bridge deletes what the history has, so that it must survive a loss of power as the position does.
	common := url.Values{"_busy_timeout": {"5000"}, "_dqs": {"0"}, "_synchronous": {"FULL"}}
	// A transaction with many rows touches more pages than the cache of 2 MB holds: they are written once, at
	// its end, as long as they are below 16 MB.
	write, err := pool(file, common, url.Values{
		"_auto_vacuum": {"INCREMENTAL"}, "_journal_mode": {"WAL"}, "_txlock": {"immediate"}, "_foreign_keys": {"1"},
		"_pragma": {"cache_spill(4000)", fmt.Sprintf("wal_autocheckpoint(%d)", wal), fmt.Sprintf("journal_size_limit(%d)", wal*pageBytes)},
	}, 1)
	if err != nil {
		return storage.Pools{}, err
	}
	// Pages that are asked for often are in the operating system's cache; each reader's own of 2 MB only
	// made the process larger.
	read, err := pool(file, common, url.Values{"_query_only": {"1"}, "_pragma": {"cache_size(-512)"}}, readers)
	if err != nil {
		return storage.Pools{}, errors.Join(err, write.Close())
	}
	return storage.Pools{Read: read, Write: write}, nil
}

// touch makes a file with the right mode if it is missing.
func touch(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("database file: %w", err)
	}
	return nil
}

func pool(file string, common, more url.Values, size int) (*sql.DB, error) {
	all := url.Values{}
	for _, values := range []url.Values{common, more} {
		for k, v := range values {
			all[k] = v
		}
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: all.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}
