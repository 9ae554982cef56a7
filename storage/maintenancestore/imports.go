package maintenancestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/storage"
)

// ErrImporting is returned for a record whose id, or alarm, may be that of an import that is not complete. It can be added, or is there, a moment
// later.
var ErrImporting = fault.New(fault.Unavailable, "IMPORT_RUNNING", "other records are being imported, try again later").With("retryAfter", "5")

// errGivenUp ends an import whose process stood still for longer than lease.
var errGivenUp = fault.New(fault.Unavailable, "IMPORT_GIVEN_UP", "the import took too long, try again")

const (
	// batch is how many records one transaction adds. On SQLite, all writers of the set wait for it: alarms and acknowledgements too.
	batch = 500
	// lease is how long a batch may take. Then the import is given up, such as after a crash.
	lease = time.Minute
	// discardTimeout bounds the removal of the records of an import that failed. What is left does not count, and is removed later.
	discardTimeout = 30 * time.Second
)

// visible selects the records of no import and of those that are complete.
const visible = "import_id NOT IN (SELECT id FROM maintenance_imports)"

// load adds many records, all or none, in several transactions. They begin to count together when the row of the import is removed.
func (t *table[R]) load(ctx context.Context, set *storage.Set, d *distinct[R]) (err error) {
	if _, err := sweep(ctx, set, set.UpdateVital); err != nil {
		return err
	}
	id := 1 + rand.Int64N(1<<62)
	if err := set.Update(ctx, "maintenance.beginImport", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO maintenance_imports (id, touched_us) VALUES (?, ?)", id, set.Now().UnixMicro())
		return err
	}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
			defer cancel()
			if left := discard(ctx, set.UpdateVital, id); left != nil {
				set.Logger().Warn("failed to remove the records of an import that failed; they do not count", "error", left)
			}
		}
	}()
	for rows := range slices.Chunk(d.rows, batch) {
		if err := set.Update(ctx, "maintenance.import", func(ctx context.Context, tx *storage.Tx) error {
			if err := t.insert(ctx, tx, rows, d.byID, id); err != nil {
				return err
			}
			return touch(ctx, tx, id, set.Now())
		}); err != nil {
			return err
		}
	}
	return set.Update(ctx, "maintenance.endImport", func(ctx context.Context, tx *storage.Tx) error {
		return one(tx.Exec(ctx, "DELETE FROM maintenance_imports WHERE id = ? AND touched_us <> 0", id))
	})
}

// touch notes that an import goes on.
func touch(ctx context.Context, tx *storage.Tx, id int64, now time.Time) error {
	return one(tx.Exec(ctx, "UPDATE maintenance_imports SET touched_us = ? WHERE id = ? AND touched_us <> 0", now.UnixMicro(), id))
}

func one(n int64, err error) error {
	if err == nil && n == 0 {
		return errGivenUp
	}
	return err
}

// otherImports returns [ErrImporting] if there is an import beside one: what it adds is not known yet.
func otherImports(ctx context.Context, tx *storage.Tx, id int64) error {
	var n int
	err := tx.Row(ctx, "SELECT COUNT(*) FROM maintenance_imports WHERE id <> ?", []any{id}, &n)
	if err == nil && n > 0 {
		return ErrImporting
	}
	return err
}

// sweep removes the imports that were given up, and returns how many there were.
func sweep(ctx context.Context, set *storage.Set, update storage.Updater) (n int, err error) {
	var ids []int64
	now := set.Now()
	// One of the future is from a time when the clock was ahead. A restore that is not committed yet shows them to its own transaction only.
	err = update(ctx, "maintenance.imports", func(ctx context.Context, tx *storage.Tx) error {
		ids = nil
		return tx.Each(ctx, "SELECT id FROM maintenance_imports WHERE touched_us < ? OR touched_us > ?",
			[]any{now.Add(-lease).UnixMicro(), now.Add(lease).UnixMicro()}, func(row storage.Scanner) error {
				var id int64
				err := row.Scan(&id)
				ids = append(ids, id)
				return err
			})
	})
	for _, id := range ids {
		if err == nil {
			err = discard(ctx, update, id)
		}
	}
	return len(ids), err
}

// discard removes an import and its records, unless it is complete.
func discard(ctx context.Context, update storage.Updater, id int64) error {
	err := update(ctx, "maintenance.giveUpImport", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE maintenance_imports SET touched_us = 0 WHERE id = ?", id)
		return err
	})
	for _, table := range []string{failures.name, replacements.name} {
		for n := int64(batch); err == nil && n == batch; {
			err = update(ctx, "maintenance.discardImport", func(ctx context.Context, tx *storage.Tx) (err error) {
				n, err = tx.Exec(ctx, fmt.Sprintf("DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s WHERE import_id = ? AND import_id <> 0 "+
					"AND import_id IN (SELECT id FROM maintenance_imports) LIMIT %[2]d)", table, batch), id)
				return err
			})
		}
	}
	if err != nil {
		return err
	}
	return update(ctx, "maintenance.removeImport", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM maintenance_imports WHERE id = ? AND touched_us = 0", id)
		return err
	})
}
