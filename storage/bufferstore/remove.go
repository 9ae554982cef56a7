package bufferstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/otkit/otkit/storage"
)

const (
	removeBlocks = 256 // in one transaction, so that appends do not wait for long
	expireBlocks = 32  // with an append
)

// Ack implements [bridge.Buffer].
func (s *Store) Ack(ctx context.Context, epoch string, through uint64) error {
	defer s.wake.Set()
	for {
		more := false
		err := s.in(ctx, epoch, func(ctx context.Context) error {
			last := min(int64(min(through, 1<<62))+s.meta.base, s.meta.last)
			next := s.meta
			var err error
			more, err = s.removeThrough(ctx, &next, last)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// removeThrough removes blocks that end at a number or before it, and reports whether there are more.
func (s *Store) removeThrough(ctx context.Context, next *meta, last int64) (more bool, err error) {
	var bound sql.NullInt64 // the first block that stays, if there are too many
	err = s.db.QueryRowContext(ctx, `SELECT first FROM blocks WHERE first <= ? ORDER BY first LIMIT 1 OFFSET ?`, last, removeBlocks).Scan(&bound)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	more = bound.Valid
	if more {
		last = min(last, bound.Int64-1)
	}
	return more, s.remove(ctx, next, `DELETE FROM blocks WHERE first <= ?1 AND first + count - 1 <= ?1`, last)
}

// remove removes blocks and stores next with it. On a full disk it uses the reserve.
func (s *Store) remove(ctx context.Context, next *meta, query string, args ...any) error {
	work := func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 && *next == s.meta {
			return err // nothing to write: a transaction that is empty costs nothing
		}
		return next.store(ctx, tx)
	}
	err := s.tx(ctx, work)
	if s.files.Classify(err) == storage.Full {
		s.releaseReserve()
		if _, err = s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err == nil {
			err = s.tx(ctx, work)
		}
	}
	if err != nil {
		return err
	}
	s.meta = *next
	return s.findOldest(ctx)
}

// Renew implements [bridge.Buffer].
func (s *Store) Renew(ctx context.Context, after uint64) error {
	defer s.wake.Set()
	return s.do(ctx, func(ctx context.Context) error {
		last := min(int64(min(after, 1<<62))+s.meta.base, s.meta.last)
		next := newMeta("", s.o.Now())
		next.base, next.last, next.offset = last, s.meta.last, s.meta.offset
		if last == s.meta.last {
			return s.remove(ctx, &next, `DELETE FROM blocks`) // quicker: rows are not looked at
		}
		return s.remove(ctx, &next, `DELETE FROM blocks WHERE first <= ?`, last)
	})
}

// expire removes blocks that are too old, at most so many.
func (s *Store) expire(ctx context.Context, now int64, most int) error {
	before := now - s.o.TTL.Milliseconds()
	if s.oldest == 0 || s.oldest >= before {
		return nil
	}
	var last, entries sql.NullInt64
	err := s.db.QueryRowContext(ctx, `SELECT max(first), sum(count) FROM (SELECT first, count, at FROM blocks ORDER BY first LIMIT ?) WHERE at < ?`,
		most, before).Scan(&last, &entries)
	if err != nil || !last.Valid {
		return err
	}
	next := s.meta
	next.expired += entries.Int64
	return s.remove(ctx, &next, `DELETE FROM blocks WHERE first <= ?`, last.Int64)
}
