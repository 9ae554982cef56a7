package tagstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
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
// their number. An engine calls it when it starts: the writes are those of a process that has ended. Where several
// engines share the database, the time is the start less the longest that a write may be queued, so that the writes of
// the others are not changed.
func (s *Store) MarkUnfinished(ctx context.Context, before time.Time) (int64, error) {
	var n int64
	err := s.set.UpdateVital(ctx, "writes.unfinished", func(ctx context.Context, tx *storage.Tx) (err error) {
		n, err = tx.Exec(ctx, `UPDATE tag_writes SET state = ?, error = ?, completed_us = ?
			WHERE state = 'Queued' AND queued_us < ?`, string(tags.WriteUnknown),
			"the engine ended before the outcome was known", storage.Timestamp(s.set.Now()), storage.Timestamp(before))
		return err
	})
	return n, err
}

// Trim removes writes with an outcome that were queued before the given time.
func (s *Store) Trim(ctx context.Context, before time.Time) error {
	return s.set.Delete(ctx, "writes.trim", func(ctx context.Context, tx *storage.Tx, limit int) (int64, error) {
		return tx.Exec(ctx, `DELETE FROM tag_writes WHERE id IN
			(SELECT id FROM tag_writes WHERE queued_us < ? AND state <> 'Queued' ORDER BY queued_us LIMIT ?)`,
			storage.Timestamp(before), limit)
	})
}
