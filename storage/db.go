package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// DB is an open database: the sets of tables of the schemas that it was opened with. The packages sqlite and postgres
// open one. Safe for concurrent use.
type DB struct {
	opts     Options
	dialect  Dialect
	sets     []*Set // those with schemas: state, then history
	keeper   *keeper
	presence *presence

	mu      sync.Mutex
	onClose []func()

	closing sync.Once
	closed  error
}

// New brings the tables of the schemas to the newest version, unless Options leave them, and starts the database.
// pools has an entry for each set that schemas have tables in; both may be the same. New owns the pools from now on,
// also when it fails.
func New(ctx context.Context, d Dialect, pools map[SetName]Pools, opts Options, schemas ...Schema) (*DB, error) {
	if d == nil {
		return nil, ErrOption.Because("the dialect is nil")
	}
	opts, err := opts.withDefaults()
	var all []*schema
	if err == nil {
		all, err = readSchemas(schemas)
	}
	if err != nil {
		return nil, errors.Join(err, closePools(pools))
	}
	db := &DB{opts: opts, dialect: d, keeper: newKeeper(opts)}
	for _, s := range all {
		set := db.set(s.Set)
		if set == nil {
			p, ok := pools[s.Set]
			if !ok {
				return nil, errors.Join(ErrOption.Because("pools: none for %s", s.Set), db.closeSets(ctx), closePools(pools))
			}
			if p.Probe != nil && db.presence == nil {
				db.presence = newPresence(p.Probe, opts.Logger)
			}
			set = newSet(s.Set, d, p, opts)
			db.sets = append(db.sets, set)
		}
		set.schemas = append(set.schemas, s)
	}
	slices.SortFunc(db.sets, func(a, b *Set) int { return strings.Compare(string(b.name), string(a.name)) }) // state first
	for _, s := range db.sets {
		s.presence = db.presence
		if s.name == State {
			s.reserve = db.keeper
		}
	}
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.closeSets(ctx))
	}
	db.keeper.start()
	return db, nil
}

// prepare makes the tables ready for use, as the options require.
func (db *DB) prepare(ctx context.Context) error {
	if db.opts.ForRestore {
		return nil
	}
	for _, s := range db.sets {
		if db.opts.NoMigrate {
			if err := s.mustHave(ctx); err != nil {
				return err
			}
			continue
		}
		if err := s.migrate(ctx); err != nil {
			return err
		}
		if err := s.upgrade(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) set(name SetName) *Set {
	for _, s := range db.sets {
		if s.name == name {
			return s
		}
	}
	return nil
}

// SetOf returns the set that has the tables of a schema, for a store over them. If db is nil or was not opened with
// the schema, SetOf returns ErrOption.
func (db *DB) SetOf(s Schema) (*Set, error) {
	if db == nil {
		return nil, ErrOption.Because("store of %s: db is required", s.Name)
	}
	if set := db.set(s.Set); set != nil {
		for _, open := range set.schemas {
			if open.Name == s.Name {
				return set, nil
			}
		}
	}
	return nil, ErrOption.Because("store of %s: the database was opened without this schema", s.Name)
}

func closePools(pools map[SetName]Pools) error {
	var err error
	for _, p := range pools {
		err = errors.Join(err, p.Read.Close(), p.Write.Close())
		if p.Probe != nil {
			err = errors.Join(err, p.Probe.Close())
		}
		if p.Listen != nil {
			err = errors.Join(err, p.Listen.Close())
		}
	}
	return err
}

// OnClose has f called when Close begins, while transactions still run: a store stops its background work in it.
func (db *DB) OnClose(f func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.onClose = append(db.onClose, f)
}

// Close stops the background work of the stores, waits for the writes that were accepted and closes the database. When ctx
// ends, writes that have not begun fail with ErrClosed; Close still waits for those that have. Calling Close again waits for
// the first call and returns its error.
func (db *DB) Close(ctx context.Context) error {
	db.closing.Do(func() {
		db.keeper.close()
		db.mu.Lock()
		stores := db.onClose
		db.mu.Unlock()
		for _, stop := range stores {
			stop()
		}
		db.closed = db.closeSets(ctx)
	})
	return db.closed
}

func (db *DB) closeSets(ctx context.Context) error {
	err := db.presence.close()
	for _, s := range db.sets {
		err = errors.Join(err, s.close(ctx))
	}
	return err
}

// Dialect returns the kind of database: sqlite or postgres.
func (db *DB) Dialect() string { return db.dialect.Name() }

// Maintenance reports whether stores do background work in this process, see [Options.NoMaintenance].
func (db *DB) Maintenance() bool { return !db.opts.NoMaintenance }

// Ping returns an error if the database does not answer.
func (db *DB) Ping(ctx context.Context) error {
	for _, s := range db.sets {
		err := s.View(ctx, "ping", func(ctx context.Context, tx *Tx) error {
			var n int
			return tx.Row(ctx, "SELECT COUNT(*) FROM schema_version", nil, &n)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// Shortage describes a shortage of space on the disk of an embedded database. It is empty when there is none.
func (db *DB) Shortage() string { return db.keeper.state() }

// SetEvictor names the store whose oldest rows are removed while the disk has little space.
func (db *DB) SetEvictor(e Evictor) { db.keeper.setEvictor(e) }

// EvictorPaused reports whether the disk has so little space, and the [Evictor] so little to remove, that the
// Evictor must store nothing.
func (db *DB) EvictorPaused() bool { return db.keeper.holds() }

// Stats are numbers of a running database.
type Stats struct {
	StateBytes   int64 // on disk
	HistoryBytes int64 // on disk; with PostgreSQL the same database as StateBytes

	Groups, GroupedWrites int64 // transactions that callers shared, and the writes in them; 0 with PostgreSQL
}

// Stats returns numbers of the running database.
func (db *DB) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	for _, s := range db.sets {
		if s.group != nil {
			out.Groups += s.group.groups.Load()
			out.GroupedWrites += s.group.writes.Load()
		}
		size, err := db.dialect.DiskSize(ctx, s.pools.Read)
		if err != nil {
			return out, explain(db.dialect, err)
		}
		if s.name == State {
			out.StateBytes = size
		} else {
			out.HistoryBytes = size
		}
	}
	return out, nil
}
