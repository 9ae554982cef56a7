package bufferstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// rowBytes is what a row takes beside its data, at most.
const rowBytes = 64

// Append implements [bridge.Buffer].
func (s *Store) Append(ctx context.Context, epoch string, blocks []link.Block) error {
	return s.in(ctx, epoch, func(ctx context.Context) error {
		next := s.meta
		if err := bridge.ValidateBlocks(uint64(next.last-next.base), blocks); err != nil {
			return err
		}
		if len(blocks) == 0 {
			return nil
		}
		now, _ := s.age.now()
		if err := s.expire(ctx, now, expireBlocks); err != nil {
			return err
		}
		next = s.meta
		removed := false
		err := s.tx(ctx, func(tx *sql.Tx) (err error) {
			if removed, err = s.makeRoom(ctx, tx, &next, blocks); err != nil {
				return err
			}
			for i := range blocks {
				b := &blocks[i]
				first := int64(b.First) + next.base
				if _, err := tx.ExecContext(ctx, `INSERT INTO blocks VALUES (?, ?, ?, ?, ?)`, first, b.Count, now, checksum(first, b.Count, b.Data), b.Data); err != nil {
					return err
				}
				next.last = first + int64(b.Count) - 1
			}
			if offset := s.age.offset.Milliseconds(); removed || offset != next.offset {
				next.offset = offset
				return next.store(ctx, tx)
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.meta = next
		if removed {
			return s.findOldest(ctx)
		}
		if s.oldest == 0 {
			s.oldest = now
		}
		return nil
	})
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is of a row. SQLite does not notice that bits of it have changed.
func checksum(first int64, count int, data []byte) int64 {
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:], uint64(first))
	binary.LittleEndian.PutUint64(head[8:], uint64(count))
	return int64(crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, data))
}

// makeRoom removes the oldest blocks until all files stay below the limit with the new ones.
func (s *Store) makeRoom(ctx context.Context, tx *sql.Tx, next *meta, blocks []link.Block) (removed bool, err error) {
	need := int64(0)
	for i := range blocks {
		// Data that does not fit into a page takes whole pages.
		need += int64(len(blocks[i].Data)) + rowBytes
		if len(blocks[i].Data) > pageBytes/4 {
			need += pageBytes
		}
	}
	limit := s.o.MaxBytes - reserveBytes - walPages*pageBytes
	limit -= limit/16 + need // the log has the new pages, too; the tree and the map of pages take some
	for {
		used, err := usedBytes(ctx, tx)
		if err != nil || used+need <= limit-s.aside {
			return removed, err
		}
		if s.aside > 0 {
			s.removeAside()
			continue
		}
		freed, entries, err := s.removeOldest(ctx, tx, used+need-limit)
		if err != nil || freed == 0 {
			return removed, err
		}
		removed = true
		next.dropped += entries
	}
}

// usedBytes returns the size of the pages that are in use.
func usedBytes(ctx context.Context, tx *sql.Tx) (int64, error) {
	var pages, free int64
	if err := tx.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return 0, err
	}
	err := tx.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free)
	return (pages - free) * pageBytes, err
}

// removeOldest removes the oldest blocks with so many bytes, but not very many at once.
func (s *Store) removeOldest(ctx context.Context, tx *sql.Tx, bytes int64) (freed, entries int64, err error) {
	last, freed, entries, err := oldestBlocks(ctx, tx, bytes)
	if err == nil && freed > 0 {
		_, err = tx.ExecContext(ctx, `DELETE FROM blocks WHERE first <= ?`, last)
	}
	return freed, entries, err
}

func oldestBlocks(ctx context.Context, tx *sql.Tx, bytes int64) (last, freed, entries int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT first, count, length(data) FROM blocks ORDER BY first LIMIT ?`, removeBlocks)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for freed < bytes && rows.Next() {
		var count, size int64
		if err := rows.Scan(&last, &count, &size); err != nil {
			return 0, 0, 0, err
		}
		freed += size + rowBytes
		entries += count
	}
	return last, freed, entries, rows.Err()
}
