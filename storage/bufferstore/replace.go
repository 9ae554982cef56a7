package bufferstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

const damagedSuffix = ".damaged"

// replace puts a damaged file aside and makes a new one with what can be read of it.
func (s *Store) replace(ctx context.Context, cause error) error {
	for _, suffix := range sqliteSuffixes {
		err := os.Rename(s.o.Path+suffix, s.o.Path+damagedSuffix+suffix)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Remove(s.o.Path + damagedSuffix + suffix) // of an older one
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	old := s.salvageable(ctx)
	damage := fmt.Sprintf("the offline buffer was damaged: %s", cause)
	if err := s.load(ctx, damage); err != nil {
		return errors.Join(err, closeAll(old))
	}
	saved, err := s.salvage(ctx, old)
	if err != nil {
		damage += fmt.Sprintf("; saving its samples failed: %s", err)
	}
	next := s.meta
	next.damage, next.damagedAt = fmt.Sprintf("%s; %d samples were saved", damage, saved), s.o.Now().UnixMilli()
	if err := s.tx(ctx, func(tx *sql.Tx) error { return next.store(ctx, tx) }); err != nil {
		return errors.Join(err, closeAll(old))
	}
	s.meta = next
	s.log.Error("offline buffer damaged and replaced", "error", cause, "saved", saved, "aside", s.o.Path+damagedSuffix)
	s.fillReserve()
	err = errors.Join(s.findOldest(ctx), closeAll(old))
	s.aside = s.asideBytes()
	if s.diskBytes() > s.o.MaxBytes {
		s.removeAside()
	}
	return err
}

func closeAll(db *sql.DB) error {
	if db == nil {
		return nil
	}
	return db.Close()
}

// salvageable opens the file that was put aside, nil if that is impossible.
func (s *Store) salvageable(ctx context.Context) *sql.DB {
	if err := lengthen(s.o.Path + damagedSuffix); err != nil {
		s.log.Warn("failed to lengthen the damaged offline buffer", "error", err)
	}
	old, err := s.files.OpenFile(s.o.Path+damagedSuffix, walPages)
	if err != nil {
		return nil
	}
	if err := old.PingContext(ctx); err != nil {
		_ = old.Close()
		return nil
	}
	return old
}

// lengthen gives a file that was cut the length that its header tells: SQLite reads nothing of a shorter one.
func lengthen(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	head := make([]byte, 32)
	_, err = io.ReadFull(f, head)
	if err == nil && bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		size := int64(binary.BigEndian.Uint32(head[28:])) * pageBytes
		if info, stat := f.Stat(); stat == nil && info.Size() < size && size <= 1<<40 {
			err = f.Truncate(size)
		}
	}
	return errors.Join(err, f.Close())
}

// salvage copies the dictionary and the blocks that can be read. Without the whole dictionary, blocks mean nothing.
func (s *Store) salvage(ctx context.Context, old *sql.DB) (entries int64, err error) {
	if old == nil {
		return 0, nil
	}
	names, err := readNames(ctx, old)
	if err != nil {
		return 0, nil //nolint:nilerr // that it cannot be read is why it is replaced
	}
	err = s.tx(ctx, func(tx *sql.Tx) error {
		for i, name := range names {
			if _, err := tx.ExecContext(ctx, `INSERT INTO names VALUES (?, ?)`, i, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	now, _ := s.age.now()
	from := int64(0)
	for {
		rows, reached := readable(ctx, old, `SELECT first, count, at, sum, data FROM blocks WHERE first > ? ORDER BY first LIMIT 64`, from)
		if len(rows) == 0 && reached == nil {
			return entries, nil
		}
		if reached != nil { // what follows the damage, from the end
			more, _ := readable(ctx, old, `SELECT first, count, at, sum, data FROM blocks WHERE first > ? ORDER BY first DESC`, lastOf(rows, from))
			for i := range more {
				rows = append(rows, more[len(more)-1-i])
			}
		}
		n, err := s.copyRows(ctx, rows, now)
		if entries += n; err != nil || reached != nil {
			return entries, err
		}
		from = lastOf(rows, from)
	}
}

type row struct {
	first   int64
	count   int
	at, sum int64
	data    []byte
}

func lastOf(rows []row, from int64) int64 {
	if len(rows) == 0 {
		return from
	}
	return rows[len(rows)-1].first
}

// maxSalvage bounds what is kept in memory of the blocks behind a damage.
const maxSalvage = 16 << 20

// readable returns rows up to the first that cannot be read, and why.
func readable(ctx context.Context, db *sql.DB, query string, from int64) (list []row, reached error) {
	rows, err := db.QueryContext(ctx, query, from)
	if err != nil {
		return nil, err
	}
	defer func() { reached = errors.Join(reached, rows.Close()) }()
	size := 0
	for size < maxSalvage && rows.Next() {
		var r row
		if err := rows.Scan(&r.first, &r.count, &r.at, &r.sum, &r.data); err != nil {
			return list, err
		}
		size += len(r.data)
		list = append(list, r)
	}
	return list, rows.Err()
}

// copyRows appends rows under new numbers, those that are whole.
func (s *Store) copyRows(ctx context.Context, rows []row, now int64) (entries int64, err error) {
	next := s.meta
	err = s.tx(ctx, func(tx *sql.Tx) error {
		for _, r := range rows {
			if r.count < 1 || checksum(r.first, r.count, r.data) != r.sum {
				continue
			}
			first := next.last + 1
			if _, err := tx.ExecContext(ctx, `INSERT INTO blocks VALUES (?, ?, ?, ?, ?)`, first, r.count, min(r.at, now),
				checksum(first, r.count, r.data), r.data); err != nil {
				return err
			}
			next.last += int64(r.count)
			entries += int64(r.count)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.meta = next
	return entries, nil
}
