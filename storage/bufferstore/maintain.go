package bufferstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

const (
	sweepInterval = time.Minute
	vacuumPages   = 256                   // given back in one step: appends wait for no more
	vacuumPause   = 20 * time.Millisecond // between two steps
	sparePages    = 512                   // that are not given back: they are needed again soon

	reserveSuffix = "-reserve"
	reserveBytes  = 3 * walPages / 2 * pageBytes
)

// maintain removes blocks that are too old and gives space back, until ctx ends.
func (s *Store) maintain(ctx context.Context) {
	defer close(s.done)
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake.C():
		case <-ticker.C:
			s.sweep(ctx)
		}
		for s.giveBack(ctx) && backoff.Wait(ctx, vacuumPause) {
		}
	}
}

// sweep removes what is too old, and stores a step of the clock.
func (s *Store) sweep(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		err := s.do(ctx, func(ctx context.Context) error {
			now, stepped := s.age.now()
			if stepped {
				next := s.meta
				next.offset = s.age.offset.Milliseconds()
				if err := s.tx(ctx, func(tx *sql.Tx) error { return next.store(ctx, tx) }); err != nil {
					return err
				}
				s.meta = next
			}
			before := s.meta.expired
			err := s.expire(ctx, now, removeBlocks)
			more = s.meta.expired > before
			s.fillReserve()
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("failed to sweep the offline buffer; retrying", "error", err)
			return
		}
	}
}

// giveBack gives some free pages to the disk, and reports whether there are more. Pages are worth it while most of the file is free: then few
// of those in use must be moved.
func (s *Store) giveBack(ctx context.Context) (more bool) {
	err := s.do(ctx, func(ctx context.Context) error {
		free, used, err := s.pages(ctx)
		if err != nil || free <= sparePages || free < used {
			return err
		}
		if _, err := s.db.ExecContext(ctx, "PRAGMA incremental_vacuum(256)"); err != nil {
			return err
		}
		after, _, err := s.pages(ctx)
		more = err == nil && after < free
		if more && after <= sparePages { // only then the file becomes shorter
			_, err = s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.log.Debug("failed to give back space of the offline buffer", "error", err)
	}
	return more && err == nil
}

func (s *Store) pages(ctx context.Context) (free, used int64, err error) {
	if err := s.db.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil {
		return 0, 0, err
	}
	var all int64
	err = s.db.QueryRowContext(ctx, "PRAGMA page_count").Scan(&all)
	return free, all - free, err
}

// fillReserve makes the reserve if it is missing: space for removing blocks on a full disk, which takes some before it gives some.
func (s *Store) fillReserve() {
	path := s.o.Path + reserveSuffix
	if info, err := os.Stat(path); err == nil && info.Size() == reserveBytes {
		return
	}
	if err := writeRandom(path, reserveBytes); err != nil {
		s.log.Debug("failed to reserve space for the offline buffer", "error", errors.Join(err, os.Remove(path)))
	}
}

// writeRandom makes a file that takes so many bytes of the disk: a file system may compress others.
func writeRandom(path string, size int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	data := make([]byte, 64<<10)
	for ; size > 0 && err == nil; size -= len(data) {
		_, _ = rand.Read(data) // never fails
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// releaseReserve removes the reserve and reports whether there was one.
func (s *Store) releaseReserve() bool {
	err := os.Remove(s.o.Path + reserveSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("failed to release the reserve of the offline buffer", "error", err)
	}
	return err == nil
}
