package driverstore

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags/drivers"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the table of drivers.
func Schema() storage.Schema {
	return storage.Schema{Name: "drivers", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "drivers", Key: "id"}, {Name: "drivers_version", Key: "id", Seeded: true},
	}}
}

// Store is a [drivers.Repository]. Safe for concurrent use, by several processes too.
type Store struct{ set *storage.Set }

var _ drivers.Repository = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

const columns = "id, type, enabled, address, port, poll_ns, timeout_ns, max_backoff_ns, settings, revision, created_us, updated_us, requires, declared"

func row(d *drivers.Definition) []any {
	requires := ""
	if len(d.Requires) > 0 {
		text, _ := json.Marshal(d.Requires) // texts can be encoded
		requires = string(text)
	}
	return []any{d.ID, d.Type, d.Enabled, d.IPAddress, int64(d.Port), int64(d.PollInterval), int64(d.Timeout), int64(d.MaxBackoff),
		string(d.Settings), d.Revision, storage.Timestamp(d.CreatedAt), storage.Timestamp(d.UpdatedAt), storage.Text(requires), d.Declared}
}

func scan(from storage.Scanner) (d drivers.Definition, err error) {
	var settings, requires string
	var poll, timeout, backoff int64
	err = from.Scan(&d.ID, &d.Type, &d.Enabled, &d.IPAddress, &d.Port, &poll, &timeout, &backoff, &settings, &d.Revision,
		(*storage.Timestamp)(&d.CreatedAt), (*storage.Timestamp)(&d.UpdatedAt), &requires, &d.Declared)
	d.PollInterval, d.Timeout, d.MaxBackoff = time.Duration(poll), time.Duration(timeout), time.Duration(backoff)
	if settings != "" {
		d.Settings = []byte(settings)
	}
	if err == nil && requires != "" {
		err = json.Unmarshal([]byte(requires), &d.Requires)
	}
	return d, err
}

// Load implements [drivers.Repository].
func (s *Store) Load(ctx context.Context) (list []drivers.Definition, version int64, err error) {
	err = s.set.View(ctx, "drivers.load", func(ctx context.Context, tx *storage.Tx) error {
		list = nil
		if err := tx.Row(ctx, "SELECT version FROM drivers_version WHERE id = 1", nil, &version); err != nil {
			return err
		}
		return tx.Each(ctx, "SELECT "+columns+" FROM drivers ORDER BY id", nil, func(row storage.Scanner) error {
			d, err := scan(row)
			list = append(list, d)
			return err
		})
	})
	return list, version, err
}

// Version implements [drivers.Repository].
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.set.View(ctx, "drivers.version", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT version FROM drivers_version WHERE id = 1", nil, &version)
	})
	return version, err
}

// changed counts a change. Its row is locked from then on, so that a version is seen no sooner than what it counts.
func changed(ctx context.Context, tx *storage.Tx) error {
	_, err := tx.Exec(ctx, "UPDATE drivers_version SET version = version + 1 WHERE id = 1")
	return err
}

// Get implements [drivers.Repository].
func (s *Store) Get(ctx context.Context, id string) (d drivers.Definition, err error) {
	found := false
	err = s.set.View(ctx, "drivers.get", func(ctx context.Context, tx *storage.Tx) error {
		found = false
		return tx.Each(ctx, "SELECT "+columns+" FROM drivers WHERE id = ?", []any{id}, func(row storage.Scanner) (err error) {
			found = true
			d, err = scan(row)
			return err
		})
	})
	if err == nil && !found {
		err = drivers.ErrNotFound.On("driverId", id)
	}
	return d, err
}

// Insert implements [drivers.Repository].
func (s *Store) Insert(ctx context.Context, d drivers.Definition) error {
	err := s.set.Update(ctx, "drivers.add", func(ctx context.Context, tx *storage.Tx) error {
		if err := changed(ctx, tx); err != nil {
			return err
		}
		return tx.Insert(ctx, "INSERT INTO drivers ("+columns+") VALUES", [][]any{row(&d)}, "")
	})
	if errors.Is(err, storage.ErrUnique) {
		return drivers.ErrExists.On("driverId", d.ID)
	}
	return err
}

// Update implements [drivers.Repository].
func (s *Store) Update(ctx context.Context, d drivers.Definition, was int64) error {
	return s.change(ctx, "drivers.update", d.ID, `UPDATE drivers SET type = ?, enabled = ?, address = ?, port = ?, poll_ns = ?, timeout_ns = ?,
		max_backoff_ns = ?, settings = ?, revision = ?, created_us = ?, updated_us = ?, requires = ?, declared = ? WHERE id = ? AND revision = ?`, append(row(&d)[1:], d.ID, was)...)
}

// Delete implements [drivers.Repository].
func (s *Store) Delete(ctx context.Context, id string, was int64) error {
	return s.change(ctx, "drivers.remove", id, "DELETE FROM drivers WHERE id = ? AND revision = ?", id, was)
}

// change runs a statement that must touch the row of an id.
func (s *Store) change(ctx context.Context, name, id, statement string, args ...any) error {
	return s.set.Update(ctx, name, func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, statement, args...)
		switch {
		case err != nil:
			return err
		case n > 0:
			return changed(ctx, tx)
		}
		fault := drivers.ErrNotFound
		err = tx.Each(ctx, "SELECT revision FROM drivers WHERE id = ?", []any{id}, func(storage.Scanner) error {
			fault = drivers.ErrChanged
			return nil
		})
		if err != nil {
			return err
		}
		return fault.On("driverId", id)
	})
}
