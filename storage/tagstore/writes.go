package tagstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

// Put implements tags.WriteLog.
func (s *Store) Put(ctx context.Context, writes []tags.Write) error {
	if len(writes) == 0 {
		return nil
	}
	rows := make([][]any, 0, len(writes))
	at := make(map[string]int, len(writes))
	for i := range writes {
		w := &writes[i]
		// Also the zero time is a number, since databases differ in the place of null in an order.
		row := []any{w.ID, w.Tag, w.Driver, storage.Text(w.Address), string(w.Value.Type()), []byte(w.Value.String()), w.By, string(w.State),
			storage.Text(w.Error), w.Confirm, w.QueuedAt.UnixMicro(), storage.Timestamp(w.CompletedAt)}
		if n, again := at[w.ID]; again {
			rows[n] = row // one statement cannot touch a row twice, and the last one counts
			continue
		}
		at[w.ID] = len(rows)
		rows = append(rows, row)
	}
	return s.set.Update(ctx, "writes.put", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Insert(ctx, `INSERT INTO tag_writes
			(id, tag, driver, address, value_type, value, written_by, state, error, confirm, queued_us, completed_us) VALUES`, rows,
			`ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, driver = excluded.driver, address = excluded.address, value_type = excluded.value_type, value = excluded.value,
			written_by = excluded.written_by, state = excluded.state, error = excluded.error,
			confirm = excluded.confirm, queued_us = excluded.queued_us, completed_us = excluded.completed_us`)
	})
}

// Get implements tags.WriteLog.
func (s *Store) Get(ctx context.Context, id string) (tags.Write, error) {
	var w tags.Write
	err := s.set.View(ctx, "writes.get", func(ctx context.Context, tx *storage.Tx) error {
		missing := sql.ErrNoRows
		err := tx.Each(ctx, "SELECT "+columns+" FROM tag_writes WHERE id = ?", []any{id}, func(row storage.Scanner) (err error) {
			missing = nil
			w, err = scanWrite(row)
			return err
		})
		return cmp.Or(err, missing)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return tags.Write{}, tags.ErrWriteNotFound.On("writeId", id)
	}
	return w, err
}

// MarkUnfinished sets every write that was queued before the given time and has no outcome to WriteUnknown, and returns
// their number. An engine that has the database to itself calls it when it starts: the writes are those of a process that has ended.
func (s *Store) MarkUnfinished(ctx context.Context, before time.Time) (int64, error) {
	return s.markUnfinished(ctx, "the engine ended before the outcome was known", unfinished, before.UnixMicro())
}

// MarkUnfinishedOf sets the writes to a driver that were queued before the given time, or at any time if that is zero, and have no outcome to
// WriteUnknown, and returns their number. Where engines share the driver, the one that takes it over calls it with the zero time before it accepts
// writes: their clocks may differ, and all that is queued then is of engines that do not run the driver any more.
//
// The outcome that such an engine puts in later, because it was only slow, replaces WriteUnknown: what it knows of the device is a fact.
func (s *Store) MarkUnfinishedOf(ctx context.Context, driver string, before time.Time) (int64, error) {
	until := int64(math.MaxInt64)
	if !before.IsZero() {
		until = before.UnixMicro()
	}
	// The index for a driver has all writes to it, so it must not be used.
	return s.markUnfinished(ctx, "the engine that had the write was lost before the outcome was known", unfinished+" AND driver || '' = ?",
		until, storage.Text(driver))
}

// unfinished selects what has no outcome, which is little and in an index of its own.
const unfinished = "state = 'Queued' AND queued_us < ?"

func (s *Store) markUnfinished(ctx context.Context, why, where string, args ...any) (n int64, err error) {
	args = append([]any{string(tags.WriteUnknown), why, storage.Timestamp(s.set.Now())}, args...)
	err = s.set.UpdateVital(ctx, "writes.unfinished", func(ctx context.Context, tx *storage.Tx) (err error) {
		n, err = tx.Exec(ctx, "UPDATE tag_writes SET state = ?, error = ?, completed_us = ? WHERE "+where, args...)
		return err
	})
	return n, err
}

// UnfinishedDrivers returns the drivers to which writes were queued before the given time that have no outcome, by id.
func (s *Store) UnfinishedDrivers(ctx context.Context, before time.Time) (drivers []string, err error) {
	err = s.set.View(ctx, "writes.unfinishedDrivers", func(ctx context.Context, tx *storage.Tx) error {
		drivers = nil
		return tx.Each(ctx, "SELECT driver FROM tag_writes WHERE "+unfinished, []any{before.UnixMicro()}, func(row storage.Scanner) error {
			var one string
			err := row.Scan(&one)
			drivers = append(drivers, one)
			return err
		})
	})
	slices.Sort(drivers)
	return slices.Compact(drivers), err
}

// Trim removes writes with an outcome that were queued before the given time.
func (s *Store) Trim(ctx context.Context, before time.Time) error {
	return s.set.Delete(ctx, "writes.trim", func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
		return tx.Exec(ctx, `DELETE FROM tag_writes WHERE id IN
			(SELECT id FROM tag_writes WHERE queued_us < ? AND state <> 'Queued' ORDER BY queued_us LIMIT ?)`,
			storage.Timestamp(before), limit)
	})
}
