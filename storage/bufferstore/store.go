package bufferstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/storage"
)

// Files opens SQLite files. sqlite.Files implements it.
type Files interface {
	OpenFile(path string, walPages int) (*sql.DB, error)
	Classify(err error) storage.ErrorClass
}

// Options configure a Store. Path is required.
type Options struct {
	Path     string        // of the database; its folder is made when it is missing
	MaxBytes int64         // that all files take, at least 8 MiB; default 500 MiB
	TTL      time.Duration // of a block; default 72 h

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards

	monotonic func() time.Duration // for tests
}

// Defaults and limits.
const (
	DefaultMaxBytes = 500 << 20
	DefaultTTL      = 72 * time.Hour
	MinBytes        = 8 << 20

	pageBytes = 4096
)

// Store is a [bridge.Buffer] in an SQLite file. Safe for concurrent use. Close must be called.
type Store struct {
	o     Options
	files Files
	log   *slog.Logger
	age   ageClock

	wake   wake.Signal // pages may be given back
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	db     *sql.DB // nil while a damaged file could not be replaced
	closed bool
	meta   meta
	oldest int64 // age stamp of the oldest block, 0 if there is none
	aside  int64 // bytes of the damaged file that was put aside
}

var _ bridge.Buffer = (*Store)(nil)

// Open opens a buffer or makes it. A file that is damaged or is not a database is put aside; see the comment of the package. The error is for
// what a new file does not solve: the folder cannot be written, another process has the buffer open, a newer version has made it, or it is a
// database of another program, which is an [ErrForeign].
func Open(ctx context.Context, files Files, o Options) (*Store, error) {
	if files == nil {
		return nil, errors.New("bufferstore: files is nil")
	}
	if o.Path == "" {
		return nil, storage.ErrOption.Because("Path is required")
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxBytes < MinBytes {
		return nil, storage.ErrOption.Because("MaxBytes must be at least %d, not %d", MinBytes, o.MaxBytes)
	}
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.TTL < 0 {
		return nil, storage.ErrOption.Because("TTL must not be negative")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.monotonic == nil {
		start := time.Now()
		o.monotonic = func() time.Duration { return time.Since(start) }
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, fmt.Errorf("offline buffer: %w", err)
	}
	s := &Store{o: o, files: files, log: o.Logger, wake: wake.NewSignal(), done: make(chan struct{}),
		age: ageClock{wall: o.Now, monotonic: o.monotonic}}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("offline buffer %s: %w", o.Path, err)
	}
	run, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.maintain(run)
	return s, nil
}

// walPages is the size of the write-ahead log. The reserve must hold as much: then the log can be copied into the file on a full disk.
const walPages = 256

// open opens the file, and replaces it if it is damaged.
func (s *Store) open(ctx context.Context) error {
	if isForeign(s.o.Path) {
		return ErrForeign
	}
	damage := ""
	if info, err := os.Stat(s.o.Path); err == nil && info.Size() == 0 {
		damage = "the file of the offline buffer was empty"
	}
	err := s.load(ctx, damage)
	if s.files.Classify(err) == storage.Full && s.releaseReserve() {
		err = errors.Join(s.closeDB(), s.load(ctx, damage))
	}
	if err == nil {
		s.fillReserve()
		s.aside = s.asideBytes()
		return nil
	}
	err = errors.Join(err, s.closeDB())
	if s.files.Classify(err) != storage.Corrupt && !errors.Is(err, errDamaged) {
		return err
	}
	return s.replace(ctx, err)
}

// load opens the file and reads what it must have. A new one gets the damage.
func (s *Store) load(ctx context.Context, damage string) error {
	db, err := s.files.OpenFile(s.o.Path, walPages)
	if err != nil {
		return err
	}
	s.db = db
	found, err := readMeta(ctx, db)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		found = newMeta(damage, s.o.Now())
		if err := found.create(ctx, db); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if _, err := readNames(ctx, db); err != nil {
		return err
	}
	var newest, last sql.NullInt64
	err = db.QueryRowContext(ctx, `SELECT at, first + count - 1 FROM blocks ORDER BY first DESC LIMIT 1`).Scan(&newest, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	found.last = max(found.last, last.Int64)
	s.meta = found
	s.age.start(time.Duration(found.offset)*time.Millisecond, newest.Int64)
	return s.findOldest(ctx)
}

// findOldest looks when the oldest block was appended.
func (s *Store) findOldest(ctx context.Context) error {
	err := s.db.QueryRowContext(ctx, `SELECT at FROM blocks ORDER BY first LIMIT 1`).Scan(&s.oldest)
	if errors.Is(err, sql.ErrNoRows) {
		s.oldest, err = 0, nil
	}
	return err
}

// Close ends the work of the store and closes its file. It may be called again.
func (s *Store) Close(ctx context.Context) error {
	s.cancel()
	select {
	case <-s.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.closeDB()
}

func (s *Store) closeDB() error {
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// do runs one operation. A transaction is not ended by its caller: its outcome would be unknown.
func (s *Store) do(ctx context.Context, op func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrClosed
	}
	ctx = context.WithoutCancel(ctx)
	if s.db == nil {
		if err := s.open(ctx); err != nil {
			return s.explain(err)
		}
	}
	err := op(ctx)
	if s.files.Classify(err) == storage.Corrupt {
		if again := errors.Join(s.closeDB(), s.replace(ctx, err)); again != nil {
			s.log.Error("failed to replace the damaged offline buffer; retrying", "error", errors.Join(again, s.closeDB())) // it may be half-made
		}
	}
	return s.explain(err)
}

// in runs one operation whose numbers are of an epoch. Any operation before may have replaced the file.
func (s *Store) in(ctx context.Context, epoch string, op func(context.Context) error) error {
	return s.do(ctx, func(ctx context.Context) error {
		if epoch != s.meta.epoch {
			return bridge.ErrEpoch
		}
		return op(ctx)
	})
}

// explain gives an error of SQLite the kind of the storage's errors.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	switch s.files.Classify(err) {
	case storage.Full:
		return storage.ErrFull.Wrap(err)
	case storage.Corrupt:
		return storage.ErrCorrupt.Wrap(err)
	case storage.Retry:
		return storage.ErrBusy.Wrap(err)
	case storage.Other, storage.Unique, storage.Away, storage.Denied:
	}
	return err
}

// tx runs fn in a transaction.
func (s *Store) tx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
