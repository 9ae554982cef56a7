package alarmstore

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/search"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of alarms, resolutions and rules.
func Schema() storage.Schema {
	return storage.Schema{Name: "alarms", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "alarm_counter", Key: "id", Seeded: true},
		{Name: "alarm_conditions", Key: "code"},
		{Name: "alarm_occurrences", Key: "seq"},
		{Name: "alarm_blocks", Key: "low_us, low_id"},
		{Name: "alarm_events", Key: "seq"},
		{Name: "alarm_resolutions", Key: "id", Serial: "id"},
		{Name: "alarm_rules", Key: "id"},
		{Name: "alarm_rule_states", Key: "rule_id"},
		{Name: "alarm_rules_version", Key: "id", Seeded: true},
	}}
}

// Store stores alarms, resolutions and alarm rules. They share a store because the code of a rule's alarm outlives its
// occurrences. It is safe for concurrent use.
//
// With PostgreSQL, writes of several engines wait for one another, which determines the order of the journal. A caller
// with many alarms should write them in one call.
type Store struct {
	set     *storage.Set
	skipped atomic.Int64 // Seq of the newest event that was logged as unreadable

	mu    sync.Mutex
	order *ruleOrder // as read last
}

var (
	_ alarms.Store           = (*Store)(nil)
	_ alarms.CodeLister      = (*Store)(nil)
	_ alarms.EventLister     = (*Store)(nil)
	_ alarms.Statistics      = (*Store)(nil)
	_ alarms.Trimmer         = (*Store)(nil)
	_ alarms.ResolutionStore = (*Store)(nil)
	_ rules.Store            = (*Store)(nil)
	_ rules.Pager            = (*Store)(nil)
	_ rules.Versioner        = (*Store)(nil)
	_ rules.StateStore       = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

const selectOccurrence = `SELECT o.seq, o.id, o.code, c.alarm_key, o.source, o.source_type, o.message, o.severity,
	o.raised_us, o.returned_us, o.cleared_us, o.acknowledged_us, o.acknowledged_by, o.comment, o.active, o.latching,
	o.withheld, o.cause, o.labels FROM alarm_occurrences o JOIN alarm_conditions c ON c.code = o.code `

func scanOccurrence(row storage.Scanner) (*alarms.Occurrence, error) {
	var (
		o             alarms.Occurrence
		cause, labels string
	)
	err := row.Scan(&o.Seq, &o.ID, &o.Code, &o.Key, &o.Source, &o.SourceType, &o.Message, &o.Severity,
		(*storage.Timestamp)(&o.RaisedAt), (*storage.Timestamp)(&o.ReturnedAt), (*storage.Timestamp)(&o.ClearedAt), (*storage.Timestamp)(&o.AcknowledgedAt),
		&o.AcknowledgedBy, &o.Comment, &o.Active, &o.Latching, &o.Suppression, &cause, &labels)
	if err != nil {
		return nil, err
	}
	if cause != "" {
		if err := json.Unmarshal([]byte(cause), &o.Cause); err != nil {
			return nil, storage.ErrCorrupt.On("alarm", o.ID).Wrap(err)
		}
	}
	if o.Labels, err = search.ReadLabels(labels); err != nil {
		return nil, storage.ErrCorrupt.On("alarm", o.ID).Wrap(err)
	}
	return &o, nil
}

// OccurrencesByID implements alarms.Store.
func (s *Store) OccurrencesByID(ctx context.Context, ids []string) ([]alarms.Occurrence, error) {
	keys := make([]any, len(ids))
	for i, id := range ids {
		keys[i] = storage.Text(id)
	}
	var found []alarms.Occurrence
	err := s.set.View(ctx, "alarms.some", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		return tx.EachIn(ctx, selectOccurrence+"WHERE o.id IN ", keys, "", func(row storage.Scanner) error {
			o, err := scanOccurrence(row)
			if err == nil {
				found = append(found, *o)
			}
			return err
		})
	})
	return storage.Distinct(found, func(o alarms.Occurrence) string { return o.ID }), err
}

// Codes implements [alarms.CodeLister].
func (s *Store) Codes(ctx context.Context, keys []string) (map[string]int64, error) {
	given := make(map[string][]string, len(keys)) // stored form -> requested forms
	var list []any
	for _, key := range keys {
		stored := storage.Text(key)
		if given[stored] == nil {
			list = append(list, stored)
		}
		given[stored] = append(given[stored], key)
	}
	var codes map[string]int64
	err := s.set.View(ctx, "alarms.codes", func(ctx context.Context, tx *storage.Tx) error {
		codes = make(map[string]int64, len(keys))
		return tx.EachIn(ctx, "SELECT code, alarm_key FROM alarm_conditions WHERE alarm_key IN ", list, "", func(row storage.Scanner) error {
			var (
				code int64
				key  string
			)
			err := row.Scan(&code, &key)
			for _, asked := range given[key] {
				codes[asked] = code
			}
			return err
		})
	})
	return codes, err
}

// Condition implements alarms.Store.
func (s *Store) Condition(ctx context.Context, ref alarms.Ref) (alarms.Condition, error) {
	var found *alarms.Condition
	err := s.set.View(ctx, "alarms.condition", func(ctx context.Context, tx *storage.Tx) error {
		look := newAlarmLookup(0)
		list, err := look.find(ctx, tx, []alarms.Ref{{Key: ref.Key, Code: ref.Code}})
		if err == nil {
			found = list[0].Condition
		}
		return err
	})
	if err != nil {
		return alarms.Condition{}, err
	}
	if found == nil {
		return alarms.Condition{}, alarms.ErrAlarmNotFound
	}
	return *found, nil
}

// SuppressedConditions implements alarms.Store.
func (s *Store) SuppressedConditions(ctx context.Context) ([]alarms.Condition, error) {
	var all []alarms.Condition
	err := s.set.View(ctx, "alarms.withheld", func(ctx context.Context, tx *storage.Tx) error {
		look := newAlarmLookup(0)
		var codes []int64
		err := tx.Each(ctx, selectCondition+"WHERE withheld <> 0 ORDER BY code", nil, func(row storage.Scanner) error {
			c, err := look.scan(row)
			codes = append(codes, c.Code)
			return err
		})
		if err != nil {
			return err
		}
		if err := look.lasts(ctx, tx); err != nil {
			return err
		}
		all = make([]alarms.Condition, len(codes))
		for i, code := range codes {
			all[i] = *look.byCode[code]
		}
		return nil
	})
	return all, err
}

// AddResolution implements alarms.ResolutionStore.
func (s *Store) AddResolution(ctx context.Context, r alarms.Resolution) (alarms.Resolution, error) {
	r.ResolvedBy, r.RecordedBy, r.ActionTaken = storage.Text(r.ResolvedBy), storage.Text(r.RecordedBy), storage.Text(r.ActionTaken)
	var notes sql.NullString
	if r.Notes != nil {
		notes = sql.NullString{String: storage.Text(*r.Notes), Valid: true}
		r.Notes = &notes.String
	}
	err := s.set.Update(ctx, "alarms.resolve", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, `INSERT INTO alarm_resolutions (code, resolved_by, recorded_by, resolved_us, action, successful, notes)
			VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			[]any{r.Code, r.ResolvedBy, r.RecordedBy, storage.Timestamp(r.ResolvedAt), r.ActionTaken, r.WasSuccessful, notes}, &r.ID)
	})
	return r, err
}

// Resolutions implements alarms.ResolutionStore.
func (s *Store) Resolutions(ctx context.Context, code int64) ([]alarms.Resolution, error) {
	var all []alarms.Resolution
	err := s.set.View(ctx, "alarms.resolutions", func(ctx context.Context, tx *storage.Tx) error {
		all = []alarms.Resolution{}
		return tx.Each(ctx, `SELECT id, code, resolved_by, recorded_by, resolved_us, action, successful, notes
			FROM alarm_resolutions WHERE code = ? ORDER BY id DESC`, []any{code}, func(row storage.Scanner) error {
			var (
				r     alarms.Resolution
				notes sql.NullString
			)
			err := row.Scan(&r.ID, &r.Code, &r.ResolvedBy, &r.RecordedBy, (*storage.Timestamp)(&r.ResolvedAt), &r.ActionTaken, &r.WasSuccessful, &notes)
			if notes.Valid {
				r.Notes = &notes.String
			}
			all = append(all, r)
			return err
		})
	})
	return all, err
}
