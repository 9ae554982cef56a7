package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// Options are the settings that do not depend on the kind of database. The zero Options works.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discard

	// OnQuery is told of every transaction: what it was for, such as accounts.add, how long its
	// caller waited and how it ended. It is called from many goroutines and must return at once.
	OnQuery func(op string, d time.Duration, err error)

	// NoMigrate leaves the tables as they are, for a command beside a running engine: the database must
	// have exactly this program's version, or it is ErrNewer, ErrOlder or ErrNoTables.
	NoMigrate bool

	MaxGroup   int // writes in one transaction, 1..10000, default 256
	MaxWaiting int // writes that wait for one, 1..100000, default 1024; beyond it callers wait their turn

	// History compaction runs when so many appended samples wait for it, or when the oldest has
	// waited so long.
	CompactSamples int           // 1000..10 million, default 500,000
	CompactAfter   time.Duration // at least 1 s, default 2 min; negative: only Compact compacts
}

// withDefaults fills what is not set and checks the rest.
func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, n := range []struct {
		name             string
		value            *int
		least, most, def int
	}{
		{"MaxGroup", &o.MaxGroup, 1, 10_000, 256},
		{"MaxWaiting", &o.MaxWaiting, 1, 100_000, 1024},
		{"CompactSamples", &o.CompactSamples, 1000, 10_000_000, 500_000},
	} {
		if *n.value == 0 {
			*n.value = n.def
		}
		if *n.value < n.least || *n.value > n.most {
			return o, ErrOption.Because("%s must be %d to %d", n.name, n.least, n.most)
		}
	}
	if o.CompactAfter == 0 {
		o.CompactAfter = 2 * time.Minute
	}
	if o.CompactAfter > 0 && o.CompactAfter < time.Second {
		return o, ErrOption.Because("CompactAfter must be at least 1 s")
	}
	return o, nil
}

// DB is the database of one engine: every domain's store and the one owner of transactions. Safe for
// concurrent use. Packages sqlite and postgres open one.
type DB struct {
	opts    Options
	dialect Dialect
	state   *set // what was acknowledged: durable when a write returns
	past    *set // history of samples
	history *History
	aas     *AASStore

	unreadable     atomic.Int64 // the newest event of the journal that was logged for being so
	unreadablePost atomic.Int64 // and the newest post

	closing sync.Once
	closed  error
}

// New brings the tables to the newest version, unless NoMigrate is set, and starts the database. It owns the pools from now
// on, also when it fails. State and history may be one database.
func New(ctx context.Context, d Dialect, state, history Pools, opts Options) (*DB, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, errors.Join(err, closePools(state, history))
	}
	db := &DB{opts: opts, dialect: d, state: newSet("state", d, state, opts), past: newSet("history", d, history, opts)}
	for _, s := range []*set{db.state, db.past} {
		steps, err := migrations(migrationFiles, s.name)
		switch {
		case err != nil:
		case opts.NoMigrate:
			err = s.mustHave(ctx, len(steps))
		default:
			err = s.migrate(ctx, steps)
		}
		if err != nil {
			return nil, errors.Join(err, db.state.close(), db.past.close())
		}
	}
	db.history = newHistory(db.past, opts)
	db.aas = &AASStore{db: db}
	return db, nil
}

func closePools(all ...Pools) error {
	var err error
	for _, p := range all {
		err = errors.Join(err, p.Read.Close(), p.Write.Close())
	}
	return err
}

// Close waits for the writes that were taken, ends compaction and closes the database.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.history.close()
		db.closed = errors.Join(db.state.close(), db.past.close())
	})
	return db.closed
}

// Update runs fn in a transaction that writes and returns when it is durable. op names what it is for.
// fn may be called more than once and must not use the database but through its Tx; when it returns
// an error nothing of it is kept and the error is returned. fn's context does not end with the
// caller's where several callers share a transaction (SQLite): fn should be short.
//
// Errors of the database are ErrFull, ErrBusy, ErrUnique, ErrClosed, ErrCorrupt or ErrFailed.
func (db *DB) Update(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return db.state.update(ctx, op, fn)
}

// View runs fn in a transaction that only reads, and that sees one state of the database throughout.
// fn may be called more than once.
func (db *DB) View(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return db.state.view(ctx, op, fn)
}

// Dialect says which database this is: sqlite or postgres.
func (db *DB) Dialect() string { return db.dialect.Name() }

// Accounts gives the store of accounts.
func (db *DB) Accounts() accounts.Store { return accountStore{db} }

// Sessions gives the store of sessions.
func (db *DB) Sessions() accounts.SessionStore { return sessionStore{db} }

// Writes gives the log of tag writes.
func (db *DB) Writes() *WriteLog { return &WriteLog{db: db} }

// Alarms gives the store of alarms. It keeps resolutions too.
func (db *DB) Alarms() *AlarmStore { return &AlarmStore{db: db} }

// Resolutions gives the store of what was done about alarms.
func (db *DB) Resolutions() alarms.ResolutionStore { return db.Alarms() }

// AlarmRules gives the store of alarm rules and of where their evaluation stands.
func (db *DB) AlarmRules() *AlarmRules { return &AlarmRules{db: db} }

// Silences gives the store of silences.
func (db *DB) Silences() alerting.SilenceStore { return silenceStore{db} }

// AlertHistory gives the store of the records of alerts.
func (db *DB) AlertHistory() alerting.HistoryStore { return alertHistory{db} }

// Outbox gives the store of messages that are to be sent.
func (db *DB) Outbox() *Outbox { return &Outbox{db: db} }

// AAS gives the store of asset administration shells and what belongs to them.
func (db *DB) AAS() *AASStore { return db.aas }

// History gives the store of samples.
func (db *DB) History() *History { return db.history }

// Ping says whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	for _, s := range []*set{db.state, db.past} {
		err := s.view(ctx, "ping", func(ctx context.Context, tx *Tx) error {
			var n int
			return tx.Row(ctx, "SELECT COUNT(*) FROM schema_version", nil, &n)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// Stats are numbers of a running database.
type Stats struct {
	StateBytes   int64 // on disk
	HistoryBytes int64 // on disk; with PostgreSQL the same database as StateBytes

	Groups, GroupedWrites int64 // transactions that callers shared, and the writes in them; 0 with PostgreSQL

	ChunkBytes, ChunkSamples    int64 // history in compacted form
	WaitingBatches, WaitingRows int64 // history that waits for compaction
}

// Stats gives numbers of the running database.
func (db *DB) Stats(ctx context.Context) (Stats, error) {
	var (
		out Stats
		err error
	)
	for _, s := range []*set{db.state, db.past} {
		if s.group != nil {
			out.Groups += s.group.groups.Load()
			out.GroupedWrites += s.group.writes.Load()
		}
	}
	if out.StateBytes, err = db.dialect.Bytes(ctx, db.state.pools.Read); err != nil {
		return out, explain(db.dialect, err)
	}
	if out.HistoryBytes, err = db.dialect.Bytes(ctx, db.past.pools.Read); err != nil {
		return out, explain(db.dialect, err)
	}
	err = db.past.view(ctx, "stats", func(ctx context.Context, tx *Tx) error {
		if err := tx.Row(ctx, "SELECT bytes, samples FROM history_total WHERE id = 1", nil, &out.ChunkBytes, &out.ChunkSamples); err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT COUNT(*), COALESCE(CAST(SUM(count) AS BIGINT), 0) FROM history_wal", nil, &out.WaitingBatches, &out.WaitingRows)
	})
	return out, err
}
