package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/otkit/otkit/alarms"
)

// AlarmStore is alarms.Store and alarms.ResolutionStore over the database.
//
// With PostgreSQL writes of several engines wait for one another, which is what gives the journal its
// order; a caller that has many alarms should write them in one call.
type AlarmStore struct{ db *DB }

var (
	_ alarms.Store           = (*AlarmStore)(nil)
	_ alarms.ResolutionStore = (*AlarmStore)(nil)
)

const selectOccurrence = `SELECT o.seq, o.id, o.code, c.alarm_key, o.source, o.source_type, o.message, o.severity,
	o.raised_us, o.returned_us, o.cleared_us, o.acknowledged_us, o.acknowledged_by, o.comment, o.active, o.latching,
	o.withheld, o.labels FROM alarm_occurrences o JOIN alarm_conditions c ON c.code = o.code `

func scanOccurrence(row Scanner) (*alarms.Occurrence, error) {
	var (
		o      alarms.Occurrence
		labels string
	)
	err := row.Scan(&o.Seq, &o.ID, &o.Code, &o.Key, &o.Source, &o.SourceType, &o.Message, &o.Severity,
		(*Stamp)(&o.RaisedAt), (*Stamp)(&o.ReturnedAt), (*Stamp)(&o.ClearedAt), (*Stamp)(&o.AcknowledgedAt),
		&o.AcknowledgedBy, &o.Comment, &o.Active, &o.Latching, &o.Withheld, &labels)
	if err != nil {
		return nil, err
	}
	if o.Labels, err = readPairs(labels); err != nil {
		return nil, ErrCorrupt.On("alarm", o.ID).Wrap(err)
	}
	return &o, nil
}

// writePairs gives the text for a map: JSON, or nothing for an empty one.
func writePairs(pairs map[string]string) (string, error) {
	if len(pairs) == 0 {
		return "", nil
	}
	text, err := appendPairs(make([]byte, 0, 48*len(pairs)), pairs)
	return string(text), err
}

// appendPairs appends the JSON of a map, in order of the names. It does in a quarter of the time what
// json.Marshal does, and each alert has three maps.
func appendPairs(text []byte, pairs map[string]string) (_ []byte, err error) {
	var own [16]string
	names := own[:0]
	for name := range pairs {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		text = append(text, "{,"[min(i, 1)])
		if text, err = appendText(text, name); err != nil {
			return nil, err
		}
		text = append(text, ':')
		if text, err = appendText(text, pairs[name]); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// appendText appends the JSON of a text. One without anything to escape is copied.
func appendText(text []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			return append(text, quoted...), err
		}
	}
	text = append(text, '"')
	text = append(text, s...)
	return append(text, '"'), nil
}

func readPairs(text string) (pairs map[string]string, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &pairs)
	}
	return pairs, err
}

// Occurrence implements alarms.Store.
func (s *AlarmStore) Occurrence(ctx context.Context, id string) (alarms.Occurrence, error) {
	var found *alarms.Occurrence
	err := s.db.View(ctx, "alarms.get", func(ctx context.Context, tx *Tx) error {
		found = nil
		return tx.Each(ctx, selectOccurrence+"WHERE o.id = ?", []any{plain(id)}, func(row Scanner) (err error) {
			found, err = scanOccurrence(row)
			return err
		})
	})
	if err != nil {
		return alarms.Occurrence{}, err
	}
	if found == nil {
		return alarms.Occurrence{}, alarms.ErrAlarmNotFound
	}
	return *found, nil
}

// Condition implements alarms.Store.
func (s *AlarmStore) Condition(ctx context.Context, ref alarms.Ref) (alarms.Condition, error) {
	var found *alarms.Condition
	err := s.db.View(ctx, "alarms.condition", func(ctx context.Context, tx *Tx) error {
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

// WithheldConditions implements alarms.Store.
func (s *AlarmStore) WithheldConditions(ctx context.Context) ([]alarms.Condition, error) {
	var all []alarms.Condition
	err := s.db.View(ctx, "alarms.withheld", func(ctx context.Context, tx *Tx) error {
		look := newAlarmLookup(0)
		var codes []int64
		err := tx.Each(ctx, selectCondition+"WHERE withheld <> 0 ORDER BY code", nil, func(row Scanner) error {
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
func (s *AlarmStore) AddResolution(ctx context.Context, r alarms.Resolution) (alarms.Resolution, error) {
	r.ResolvedBy, r.ActionTaken = plain(r.ResolvedBy), plain(r.ActionTaken)
	var notes sql.NullString
	if r.Notes != nil {
		notes = sql.NullString{String: plain(*r.Notes), Valid: true}
		r.Notes = &notes.String
	}
	err := s.db.Update(ctx, "alarms.resolve", func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, `INSERT INTO alarm_resolutions (code, resolved_by, resolved_us, action, successful, notes)
			VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
			[]any{r.Code, r.ResolvedBy, Stamp(r.ResolvedAt), r.ActionTaken, r.WasSuccessful, notes}, &r.ID)
	})
	return r, err
}

// Resolutions implements alarms.ResolutionStore.
func (s *AlarmStore) Resolutions(ctx context.Context, code int64) ([]alarms.Resolution, error) {
	var all []alarms.Resolution
	err := s.db.View(ctx, "alarms.resolutions", func(ctx context.Context, tx *Tx) error {
		all = []alarms.Resolution{}
		return tx.Each(ctx, `SELECT id, code, resolved_by, resolved_us, action, successful, notes
			FROM alarm_resolutions WHERE code = ? ORDER BY id DESC`, []any{code}, func(row Scanner) error {
			var (
				r     alarms.Resolution
				notes sql.NullString
			)
			err := row.Scan(&r.ID, &r.Code, &r.ResolvedBy, (*Stamp)(&r.ResolvedAt), &r.ActionTaken, &r.WasSuccessful, &notes)
			if notes.Valid {
				r.Notes = &notes.String
			}
			all = append(all, r)
			return err
		})
	})
	return all, err
}
