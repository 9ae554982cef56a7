package maintenancestore

import (
	"context"
	"embed"
	"errors"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of failures and replacements, and of the position up to which failures are recorded from alarms.
func Schema() storage.Schema {
	return storage.Schema{Name: "maintenance", Set: storage.State, Migrations: migrations, Upgrade: removeGivenUp, Tables: []storage.Table{
		{Name: "maintenance_imports", Key: "id"},
		{Name: "maintenance_failures", Key: "id"},
		{Name: "maintenance_replacements", Key: "id"},
		{Name: "maintenance_positions", Key: "name", Seeded: true},
	}}
}

// removeGivenUp removes the imports of processes that were killed. On a full disk they stay until there is space: they do not count.
func removeGivenUp(ctx context.Context, set *storage.Set, update storage.Updater) error {
	_, err := sweep(ctx, set, update)
	if errors.Is(err, storage.ErrFull) {
		set.Logger().Warn("failed to look for imports that were not completed; their records do not count", "error", err)
		return nil
	}
	return err
}

// Store is a [predictive.RecordStore]. Safe for concurrent use, by several processes too.
type Store struct{ set *storage.Set }

var _ predictive.RecordStore = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

var failures = table[predictive.Failure]{
	name: "maintenance_failures", columns: "id, equipment_id, component, code, source, note, start_us, noticed_us, end_us", time: "start_us", detail: "code",
	row: func(f predictive.Failure) []any {
		return []any{storage.Text(f.ID), storage.Text(f.EquipmentID), storage.Text(f.Component), storage.Text(f.Code), storage.Text(string(f.Source)),
			storage.Text(f.Note), storage.Timestamp(f.Start), storage.Timestamp(f.Noticed), storage.Timestamp(f.End)}
	},
	scan: func(row storage.Scanner) (f predictive.Failure, err error) {
		err = row.Scan(&f.ID, &f.EquipmentID, &f.Component, &f.Code, (*string)(&f.Source), &f.Note, (*storage.Timestamp)(&f.Start),
			(*storage.Timestamp)(&f.Noticed), (*storage.Timestamp)(&f.End))
		return f, err
	},
	key: func(f predictive.Failure) (recordKey, predictive.Source) {
		return recordKey{storage.Text(f.EquipmentID), storage.Text(f.Component), storage.Text(f.Code), f.Start.UnixMicro()}, f.Source
	},
}

var replacements = table[predictive.Replacement]{
	name: "maintenance_replacements", columns: "id, equipment_id, component, reason, source, note, at_us", time: "at_us", detail: "reason",
	row: func(r predictive.Replacement) []any {
		return []any{storage.Text(r.ID), storage.Text(r.EquipmentID), storage.Text(r.Component), storage.Text(string(r.Reason)), storage.Text(string(r.Source)),
			storage.Text(r.Note), storage.Timestamp(r.At)}
	},
	scan: func(row storage.Scanner) (r predictive.Replacement, err error) {
		err = row.Scan(&r.ID, &r.EquipmentID, &r.Component, (*string)(&r.Reason), (*string)(&r.Source), &r.Note, (*storage.Timestamp)(&r.At))
		return r, err
	},
	key: func(r predictive.Replacement) (recordKey, predictive.Source) {
		return recordKey{storage.Text(r.EquipmentID), storage.Text(r.Component), storage.Text(string(r.Reason)), r.At.UnixMicro()}, r.Source
	},
}

// AddFailures implements [predictive.RecordStore].
func (s *Store) AddFailures(ctx context.Context, list []predictive.Failure) error {
	return failures.add(ctx, s.set, list)
}

// AddReplacements implements [predictive.RecordStore].
func (s *Store) AddReplacements(ctx context.Context, list []predictive.Replacement) error {
	return replacements.add(ctx, s.set, list)
}

// Failures implements [predictive.RecordStore].
func (s *Store) Failures(ctx context.Context, q predictive.RecordQuery) (predictive.Page[predictive.Failure], error) {
	return failures.find(ctx, s.set, q)
}

// Replacements implements [predictive.RecordStore].
func (s *Store) Replacements(ctx context.Context, q predictive.RecordQuery) (predictive.Page[predictive.Replacement], error) {
	return replacements.find(ctx, s.set, q)
}

// DeleteFailure implements [predictive.RecordStore]. It works on a full disk too.
func (s *Store) DeleteFailure(ctx context.Context, id string) error {
	return failures.remove(ctx, s.set, id)
}

// DeleteReplacement implements [predictive.RecordStore]. It works on a full disk too.
func (s *Store) DeleteReplacement(ctx context.Context, id string) error {
	return replacements.remove(ctx, s.set, id)
}
