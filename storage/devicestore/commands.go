package devicestore

import (
	"context"
	"strings"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/storage"
)

const commandColumns = "id, device_id, type, parameters, priority, time_us, issued_by, issued_us, digest, path, phase, ended, began_us, decision, success, message, data, completed_us"

func commandRow(r devices.Record) ([]any, error) {
	parameters, err := encode(&r.Parameters)
	if err != nil {
		return nil, err
	}
	outcome, err := outcomeRow(r)
	if err != nil {
		return nil, err
	}
	return append([]any{r.ID, r.DeviceID, r.Type, parameters, r.Priority, storage.Timestamp(r.Time), r.By, storage.Timestamp(r.IssuedAt), r.Digest}, outcome...), nil
}

// outcomeRow returns the columns from path on.
func outcomeRow(r devices.Record) ([]any, error) {
	path, err := encode(r.Path)
	if err != nil {
		return nil, err
	}
	decision, err := encode(&r.Decision)
	if err != nil {
		return nil, err
	}
	data := ""
	if r.Result.Data != nil {
		if data, err = encode(&r.Result.Data); err != nil {
			return nil, err
		}
	}
	return []any{path, string(r.Phase), r.Phase.Ended(), storage.Timestamp(r.BeganAt), decision, r.Result.Success, r.Result.Message, data,
		storage.Timestamp(r.Result.CompletedAt)}, nil
}

func scanCommand(row storage.Scanner) (r devices.Record, err error) {
	var parameters, path, decision, data string
	var ended bool
	err = row.Scan(&r.ID, &r.DeviceID, &r.Type, &parameters, &r.Priority, (*storage.Timestamp)(&r.Time), &r.By, (*storage.Timestamp)(&r.IssuedAt), &r.Digest, &path,
		(*string)(&r.Phase), &ended, (*storage.Timestamp)(&r.BeganAt), &decision, &r.Result.Success, &r.Result.Message, &data,
		(*storage.Timestamp)(&r.Result.CompletedAt))
	if err != nil {
		return r, err
	}
	r.Result.CommandID = r.ID
	var given, returned *map[string]any
	var decided *devices.Decision
	for _, err := range []error{decode(parameters, &given), decode(path, &r.Path), decode(decision, &decided), decode(data, &returned)} {
		if err != nil {
			return r, err
		}
	}
	if given != nil {
		r.Parameters = *given
	}
	if decided != nil {
		r.Decision = *decided
	}
	if returned != nil {
		r.Result.Data = *returned
	}
	return r, nil
}

// AddCommand implements [devices.Store].
func (s *Store) AddCommand(ctx context.Context, r devices.Record) (stored devices.Record, added bool, err error) {
	row, err := commandRow(r)
	if err != nil {
		return devices.Record{}, false, err
	}
	update := s.set.Update
	if r.Type == devices.EmergencyStop {
		update = s.set.UpdateVital
	}
	err = s.write(ctx, update, "devices.command", func(ctx context.Context, tx *storage.Tx) error {
		added = false
		list := "?" + strings.Repeat(", ?", len(row)-1)
		n, err := tx.Exec(ctx, "INSERT INTO device_commands ("+commandColumns+") VALUES ("+list+") ON CONFLICT (id) DO NOTHING", row...)
		if err != nil || n == 1 {
			stored, added = r, true
			return err
		}
		return tx.Each(ctx, "SELECT "+commandColumns+" FROM device_commands WHERE id = ?", []any{r.ID}, func(row storage.Scanner) error {
			stored, err = scanCommand(row)
			return err
		})
	})
	return stored, added, err
}

// UpdateCommand implements [devices.Store].
func (s *Store) UpdateCommand(ctx context.Context, r devices.Record) error {
	row, err := outcomeRow(r)
	if err != nil {
		return err
	}
	return s.write(ctx, s.set.Update, "devices.outcome", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE device_commands SET path = ?, phase = ?, ended = ?, began_us = ?, decision = ?, success = ?, message = ?, data = ?,
			completed_us = ? WHERE id = ? AND NOT ended`, append(row, r.ID)...)
		if err != nil || n == 1 {
			return err
		}
		var known int
		if err := tx.Row(ctx, "SELECT count(*) FROM device_commands WHERE id = ?", []any{r.ID}, &known); err != nil {
			return err
		}
		if known == 0 {
			return devices.ErrNoCommand.On("commandId", r.ID)
		}
		return nil
	})
}

// Commands implements [devices.Store].
func (s *Store) Commands(ctx context.Context, q devices.CommandQuery) (found []devices.Record, err error) {
	where, args := "1 = 1", []any(nil)
	and := func(condition string, values ...any) {
		where += " AND " + condition
		args = append(args, values...)
	}
	if q.ID != "" {
		and("id = ?", q.ID)
	}
	if q.DeviceID != "" {
		and("device_id = ?", q.DeviceID)
	}
	if q.Unfinished {
		and("NOT ended")
	}
	if !q.Before.IsZero() {
		before := storage.CeilMicros(q.Before)
		if q.BeforeID != "" {
			and("(issued_us < ? OR issued_us = ? AND id < ?)", before, before, q.BeforeID)
		} else {
			and("issued_us < ?", before)
		}
	}
	err = s.set.View(ctx, "devices.commands", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		return tx.Each(ctx, "SELECT "+commandColumns+" FROM device_commands WHERE "+where+" ORDER BY issued_us DESC, id DESC LIMIT ?", append(args, q.Limit),
			func(row storage.Scanner) error {
				r, err := scanCommand(row)
				found = append(found, r)
				return err
			})
	})
	return found, err
}

// LastMoves implements [devices.Store].
func (s *Store) LastMoves(ctx context.Context) (found []devices.Record, err error) {
	err = s.set.View(ctx, "devices.moves", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		// One search of the index for each device: the journal may have millions of commands.
		return tx.Each(ctx, "SELECT "+commandColumns+` FROM device_commands WHERE id IN (SELECT (SELECT c.id FROM device_commands c
			WHERE c.device_id = d.id AND c.path <> '' AND c.began_us IS NOT NULL AND c.phase <> 'Failed' ORDER BY c.began_us DESC LIMIT 1) FROM devices d)`, nil,
			func(row storage.Scanner) error {
				r, err := scanCommand(row)
				found = append(found, r)
				return err
			})
	})
	return found, err
}

// TrimCommands implements [devices.Trimmer].
func (s *Store) TrimCommands(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.write(ctx, s.set.Update, "devices.trim", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM device_commands WHERE id IN
			(SELECT id FROM device_commands WHERE ended AND issued_us < ? ORDER BY issued_us LIMIT ?)`, storage.CeilMicros(before), limit)
		removed = int(n)
		return err
	})
	return removed, err
}
