package bufferstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// Peek implements [bridge.Buffer]. A block that is damaged is left out, and removed.
func (s *Store) Peek(ctx context.Context, epoch string, after uint64, maxBytes int) (blocks []link.Block, err error) {
	err = s.in(ctx, epoch, func(ctx context.Context) error {
		for {
			var damaged []int64
			if blocks, damaged, err = s.peek(ctx, after, maxBytes); err != nil || len(damaged) == 0 {
				return err
			}
			if err := s.giveUp(ctx, damaged); err != nil {
				return err
			}
		}
	})
	return blocks, err
}

// peek reads blocks. It returns the damaged ones that it met.
func (s *Store) peek(ctx context.Context, after uint64, maxBytes int) (blocks []link.Block, damaged []int64, err error) {
	from := min(int64(min(after, 1<<62))+s.meta.base, s.meta.last)
	// The block that has the entry may begin before it.
	rows, err := s.db.QueryContext(ctx, `SELECT first, count, sum, data FROM blocks WHERE first >= coalesce(
		(SELECT max(first) FROM blocks WHERE first <= ?), 0) ORDER BY first`, from)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var first, sum int64
		var count int
		var data []byte
		if err := rows.Scan(&first, &count, &sum, &data); err != nil {
			return nil, nil, err
		}
		if checksum(first, count, data) != sum || count < 1 || first <= s.meta.base {
			damaged = append(damaged, first)
			continue
		}
		b := link.Block{First: uint64(first - s.meta.base), Count: count, Data: data}
		if b.Last() <= after {
			continue
		}
		if maxBytes -= len(data); maxBytes < 0 && len(blocks) > 0 {
			break
		}
		blocks = append(blocks, b)
	}
	return blocks, damaged, rows.Err()
}

// giveUp removes damaged blocks. How many entries they had is what their neighbors' numbers tell.
func (s *Store) giveUp(ctx context.Context, damaged []int64) error {
	s.log.Error("blocks of the offline buffer damaged and left out", "blocks", len(damaged))
	next := s.meta
	for _, first := range damaged {
		if err := s.remove(ctx, &next, `DELETE FROM blocks WHERE first = ?`, first); err != nil {
			return err
		}
	}
	return nil
}

// Names implements [bridge.Buffer].
func (s *Store) Names(ctx context.Context) (names []string, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		names, err = readNames(ctx, s.db)
		return err
	})
	return names, err
}

// AddNames implements [bridge.Buffer].
func (s *Store) AddNames(ctx context.Context, names []string) error {
	return s.do(ctx, func(ctx context.Context) error {
		return s.tx(ctx, func(tx *sql.Tx) (err error) {
			insert, err := tx.PrepareContext(ctx, `INSERT INTO names VALUES ((SELECT coalesce(max(id) + 1, 0) FROM names), ?)`)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, insert.Close()) }()
			for _, name := range names {
				if _, err := insert.ExecContext(ctx, name); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Epoch implements [bridge.Buffer].
func (s *Store) Epoch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta.epoch
}

// Stats implements [bridge.Buffer].
func (s *Store) Stats(ctx context.Context) (stats bridge.BufferStats, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		m := &s.meta
		stats = bridge.BufferStats{Epoch: m.epoch, Last: uint64(m.last - m.base), Bytes: s.diskBytes(), MaxBytes: s.o.MaxBytes,
			Dropped: uint64(m.dropped), Expired: uint64(m.expired), Damage: m.damage}
		if m.damage != "" {
			stats.DamagedAt = time.UnixMilli(m.damagedAt).UTC()
		}
		var first sql.NullInt64
		if err := s.db.QueryRowContext(ctx, `SELECT min(first) FROM blocks`).Scan(&first); err != nil || !first.Valid {
			return err
		}
		stats.First = uint64(first.Int64 - m.base)
		stats.Entries = stats.Last - stats.First + 1
		stats.Oldest = s.age.time(s.oldest).UTC()
		return nil
	})
	return stats, err
}

// diskBytes returns the size of all files of the buffer.
func (s *Store) diskBytes() (sum int64) {
	for _, suffix := range []string{"", "-wal", "-shm", reserveSuffix} {
		sum += sizeOf(s.o.Path + suffix)
	}
	return sum + s.aside
}
