package devicestore

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of devices.
func Schema() storage.Schema {
	return storage.Schema{Name: "devices", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "devices", Key: "id"},
		{Name: "device_commands", Key: "id"},
		{Name: "device_fence", Key: "id", Seeded: true},
	}}
}

// Store is a [devices.SharedStore]. Safe for concurrent use, by several processes too.
type Store struct {
	set   *storage.Set
	epoch uint64 // of the owner that alone may write; 0: everybody may
}

var (
	_ devices.SharedStore = (*Store)(nil)
	_ devices.Trimmer     = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

const deviceColumns = "id, tenant_id, name, description, state, held, stop_latched, last_seen_us, created_us, telemetry"

func deviceRow(d devices.Device) ([]any, error) {
	telemetry, err := encode(d.Telemetry)
	return []any{d.ID, d.TenantID, d.Name, d.Description, string(d.State), d.Held, d.StopLatched, storage.Timestamp(d.LastSeen),
		storage.Timestamp(d.CreatedAt), telemetry}, err
}

func scanDevice(row storage.Scanner) (d devices.Device, err error) {
	var telemetry string
	err = row.Scan(&d.ID, &d.TenantID, &d.Name, &d.Description, (*string)(&d.State), &d.Held, &d.StopLatched, (*storage.Timestamp)(&d.LastSeen),
		(*storage.Timestamp)(&d.CreatedAt), &telemetry)
	if err == nil {
		err = decode(telemetry, &d.Telemetry)
	}
	return d, err
}

// AddDevice implements [devices.Store].
func (s *Store) AddDevice(ctx context.Context, d devices.Device) error {
	row, err := deviceRow(d)
	if err != nil {
		return err
	}
	err = s.write(ctx, s.set.Update, "devices.add", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Insert(ctx, "INSERT INTO devices ("+deviceColumns+") VALUES", [][]any{row}, "")
	})
	if errors.Is(err, storage.ErrUnique) {
		return devices.ErrExists.On("deviceId", d.ID)
	}
	return err
}

// UpdateDevice implements [devices.Store].
func (s *Store) UpdateDevice(ctx context.Context, id string, change func(*devices.Device) error) error {
	return s.write(ctx, s.set.UpdateVital, "devices.update", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "devices"); err != nil {
			return err
		}
		var found []devices.Device
		err := tx.Each(ctx, "SELECT "+deviceColumns+" FROM devices WHERE id = ?", []any{id}, func(row storage.Scanner) error {
			d, err := scanDevice(row)
			found = append(found, d)
			return err
		})
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return devices.ErrNotFound.On("deviceId", id)
		}
		if err := change(&found[0]); err != nil {
			return err
		}
		return update(ctx, tx, found[0])
	})
}

// UpdateDevices implements [devices.Store]. On a full disk it stores emergency stops that begin, with the reserve for vital writes, which
// what devices report must not use up.
func (s *Store) UpdateDevices(ctx context.Context, ids []string, change func(*devices.Device)) error {
	_, err := s.updateDevices(ctx, s.set.Update, ids, change, func(_, _ *devices.Device) bool { return true })
	if !errors.Is(err, storage.ErrFull) {
		return err
	}
	stops := func(was, is *devices.Device) bool { return is.StopLatched && !was.StopLatched }
	left, vitalErr := s.updateDevices(ctx, s.set.UpdateVital, ids, change, stops)
	if vitalErr == nil && left == 0 {
		return nil
	}
	return err
}

// updateDevices stores those of the changed devices that which selects, and returns how many it left.
func (s *Store) updateDevices(ctx context.Context, run transaction, ids []string, change func(*devices.Device), which func(was, is *devices.Device) bool) (left int, err error) {
	err = s.write(ctx, run, "devices.updates", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "devices"); err != nil {
			return err
		}
		left = 0
		for portion := range slices.Chunk(ids, 200) {
			var found []devices.Device
			args := make([]any, len(portion))
			for i, id := range portion {
				args[i] = id
			}
			list := "?" + strings.Repeat(", ?", len(args)-1)
			err := tx.Each(ctx, "SELECT "+deviceColumns+" FROM devices WHERE id IN ("+list+")", args, func(row storage.Scanner) error {
				d, err := scanDevice(row)
				found = append(found, d)
				return err
			})
			if err != nil {
				return err
			}
			for _, was := range found {
				is := was
				if change(&is); !which(&was, &is) {
					left++
					continue
				}
				if err := update(ctx, tx, is); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return left, err
}

func update(ctx context.Context, tx *storage.Tx, d devices.Device) error {
	telemetry, err := encode(d.Telemetry)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE devices SET name = ?, description = ?, state = ?, held = ?, stop_latched = ?, last_seen_us = ?, telemetry = ? WHERE id = ?`,
		d.Name, d.Description, string(d.State), d.Held, d.StopLatched, storage.Timestamp(d.LastSeen), telemetry, d.ID)
	return err
}

// Devices implements [devices.Store].
func (s *Store) Devices(ctx context.Context) (all []devices.Device, err error) {
	err = s.set.View(ctx, "devices.list", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		return tx.Each(ctx, "SELECT "+deviceColumns+" FROM devices ORDER BY id", nil, func(row storage.Scanner) error {
			d, err := scanDevice(row)
			all = append(all, d)
			return err
		})
	})
	return all, err
}

// encode returns a value as JSON; empty for nil.
func encode[T any](v *T) (string, error) {
	if v == nil {
		return "", nil
	}
	data, err := json.Marshal(v)
	return string(data), err
}

func decode[T any](text string, to **T) error {
	if text == "" {
		return nil
	}
	*to = new(T)
	return json.Unmarshal([]byte(text), *to)
}
