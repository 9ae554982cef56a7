package bufferstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/storage"
)

// The file has one row of meta. The number of an entry is first - base: so a new epoch need not touch the blocks. at is of the ageClock, sum a
// CRC-32C of the row.
const (
	tables = `
CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), epoch TEXT NOT NULL, base INTEGER NOT NULL, last INTEGER NOT NULL,
	clock INTEGER NOT NULL, dropped INTEGER NOT NULL, expired INTEGER NOT NULL, damage TEXT NOT NULL, damaged_at INTEGER NOT NULL);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE blocks (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, at INTEGER NOT NULL, sum INTEGER NOT NULL, data BLOB NOT NULL);
PRAGMA user_version = 1`
	version = 1
)

// ErrForeign is the error of a file that is a database of another program.
var ErrForeign = fault.New(fault.Invalid, "BUFFER_FOREIGN", "the file is a database of another program")

var errDamaged = errors.New("the file has not what a buffer has")

// meta is what the file says of itself.
type meta struct {
	epoch            string
	base, last       int64 // of first; last was used, also when its block is gone
	offset           int64 // of the ageClock, ms
	dropped, expired int64
	damage           string
	damagedAt        int64 // ms since 1970
}

func newMeta(damage string, now time.Time) meta {
	m := meta{epoch: rand.Text(), damage: damage}
	if damage != "" {
		m.damagedAt = now.UnixMilli()
	}
	return m
}

// readMeta returns sql.ErrNoRows for a new file.
func readMeta(ctx context.Context, db *sql.DB) (m meta, err error) {
	var v int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return m, err
	}
	var all, ours int
	err = db.QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN name IN ('meta', 'names', 'blocks') THEN 1 END) FROM sqlite_master`).Scan(&all, &ours)
	switch {
	case err != nil:
		return m, err
	case all > 0 && ours < 3:
		return m, ErrForeign
	case v > version:
		return m, storage.ErrNewer.Because("the offline buffer has version %d, this program knows %d", v, version)
	case all == 0 && v == 0:
		return m, sql.ErrNoRows
	case all == 0:
		return m, fmt.Errorf("%w: it has no tables", errDamaged)
	}
	err = db.QueryRowContext(ctx, `SELECT epoch, base, last, clock, dropped, expired, damage, damaged_at FROM meta`).
		Scan(&m.epoch, &m.base, &m.last, &m.offset, &m.dropped, &m.expired, &m.damage, &m.damagedAt)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: it has no epoch", errDamaged)
	}
	return m, err
}

// create makes the tables in an empty file.
func (m *meta) create(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, tables)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`,
			m.epoch, m.base, m.last, m.offset, m.dropped, m.expired, m.damage, m.damagedAt)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (m *meta) store(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE meta SET epoch = ?, base = ?, last = ?, clock = ?, dropped = ?, expired = ?, damage = ?, damaged_at = ?`,
		m.epoch, m.base, m.last, m.offset, m.dropped, m.expired, m.damage, m.damagedAt)
	return err
}

func readNames(ctx context.Context, db *sql.DB) (names []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT id, name FROM names ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, err
		}
		if id != len(names) {
			return nil, fmt.Errorf("%w: name %d is missing", errDamaged, len(names))
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
