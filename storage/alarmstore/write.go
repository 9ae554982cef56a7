package alarmstore

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/positions"
	"github.com/otkit/otkit/storage/internal/search"
)

// Write implements alarms.Store.
func (s *Store) Write(ctx context.Context, refs []alarms.Ref, changeWith func(next int64, found []alarms.RefResult) (alarms.Changes, error)) error {
	return s.set.UpdateVital(ctx, "alarms.write", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alarm_counter"); err != nil {
			return err
		}
		var seq, code int64
		if err := tx.Row(ctx, "SELECT seq, code FROM alarm_counter WHERE id = 1", nil, &seq, &code); err != nil {
			return err
		}
		look := newAlarmLookup(code)
		found, err := look.find(ctx, tx, refs)
		if err != nil {
			return err
		}
		stored := make(map[int64]positions.Change[int64], len(look.bySeq)) // what the counts lose if it is written again
		for n, o := range look.bySeq {
			stored[n] = counted(o, positions.Deleted)
		}
		changes, err := changeWith(seq+1, found)
		if err != nil {
			return err
		}
		last := seq
		if n := len(changes.Events); n > 0 {
			last = changes.Events[n-1].Seq
		}
		if last != seq || look.code != code {
			if _, err := tx.Exec(ctx, "UPDATE alarm_counter SET seq = ?, code = ? WHERE id = 1", last, look.code); err != nil {
				return err
			}
		}
		if err := putConditions(ctx, tx, append(look.created, changes.Conditions...), code); err != nil {
			return err
		}
		moved, err := recount(ctx, tx, changes.Occurrences, stored, seq)
		if err != nil {
			return err
		}
		if err := putOccurrences(ctx, tx, changes.Occurrences, seq); err != nil {
			return err
		}
		if err := alarmPositions.Apply(ctx, tx, moved); err != nil {
			return err
		}
		return addEvents(ctx, tx, changes.Events)
	})
}

// counted returns the change of the counts for an occurrence.
func counted(o *alarms.Occurrence, change func(positions.Place[int64], uint8) positions.Change[int64]) positions.Change[int64] {
	return change(positions.Place[int64]{Micros: o.RaisedAt.UnixMicro(), ID: o.Seq}, o.Class())
}

// recount returns what storing occurrences changes in the counts. stored has those that were read, as they are stored;
// last is the number of the newest event that is stored.
func recount(ctx context.Context, tx *storage.Tx, list []*alarms.Occurrence, stored map[int64]positions.Change[int64], last int64) ([]positions.Change[int64], error) {
	var (
		moved []positions.Change[int64]
		other []any
	)
	for _, o := range storage.Distinct(list, func(o *alarms.Occurrence) int64 { return o.Seq }) {
		after := counted(o, positions.Inserted)
		before, known := stored[o.Seq]
		switch {
		case known && before.At == after.At && before.Class == after.Class:
			continue
		case known:
			moved = append(moved, before)
		case o.Seq <= last:
			other = append(other, o.Seq)
		}
		moved = append(moved, after)
	}
	err := tx.EachIn(ctx, "SELECT "+classColumns+" FROM alarm_occurrences WHERE seq IN ", other, "", func(row storage.Scanner) error {
		at, class, err := scanClass(row)
		moved = append(moved, positions.Deleted(at, class))
		return err
	})
	return moved, err
}

// putNew inserts the rows whose number, in the first column, is above last, and replaces the others. A plain insert is less
// work.
func putNew(ctx context.Context, tx *storage.Tx, into string, rows [][]any, last int64, replace string) error {
	var added, changed [][]any
	for _, row := range rows {
		if row[0].(int64) > last {
			added = append(added, row)
		} else {
			changed = append(changed, row)
		}
	}
	if err := tx.Insert(ctx, into, added, ""); err != nil {
		return err
	}
	return tx.Insert(ctx, into, changed, replace)
}

// putConditions stores conditions; last is the newest code that is stored.
func putConditions(ctx context.Context, tx *storage.Tx, list []*alarms.Condition, last int64) error {
	list = storage.Distinct(list, func(c *alarms.Condition) int64 { return c.Code })
	rows := make([][]any, len(list))
	for i, c := range list {
		var newest sql.NullInt64
		if c.Last != nil {
			newest = sql.NullInt64{Int64: c.Last.Seq, Valid: true}
		}
		rows[i] = []any{c.Code, storage.Text(c.Key), int64(c.Suppression), storage.Timestamp(c.ShelvedUntil), storage.Text(c.ShelvedBy), newest,
			storage.Text(c.SuppressedBy), storage.Timestamp(c.SuppressedAt), storage.Text(c.SuppressionComment)}
	}
	return putNew(ctx, tx, `INSERT INTO alarm_conditions (code, alarm_key, withheld, shelved_until_us, shelved_by, last_seq,
		withheld_by, withheld_us, withheld_comment) VALUES`,
		rows, last, `ON CONFLICT (code) DO UPDATE SET withheld = excluded.withheld, shelved_until_us = excluded.shelved_until_us,
		shelved_by = excluded.shelved_by, last_seq = excluded.last_seq, withheld_by = excluded.withheld_by,
		withheld_us = excluded.withheld_us, withheld_comment = excluded.withheld_comment`)
}

// putOccurrences stores occurrences; last is the number of the newest event that is stored.
func putOccurrences(ctx context.Context, tx *storage.Tx, list []*alarms.Occurrence, last int64) error {
	list = storage.Distinct(list, func(o *alarms.Occurrence) int64 { return o.Seq })
	rows := make([][]any, len(list))
	for i, o := range list {
		labels, err := search.WriteLabels(o.Labels)
		if err != nil {
			return err
		}
		cause, err := writeCause(o.Cause)
		if err != nil {
			return err
		}
		rows[i] = []any{o.Seq, o.ID, o.Code, storage.Text(o.Source), storage.Text(o.SourceType), storage.Text(o.Message), int64(o.Severity),
			storage.Timestamp(o.RaisedAt), storage.Timestamp(o.ReturnedAt), storage.Timestamp(o.ClearedAt), storage.Timestamp(o.AcknowledgedAt), storage.Text(o.AcknowledgedBy),
			storage.Text(o.Comment), o.Active, o.Latching, int64(o.Suppression), labels, cause}
	}
	return putNew(ctx, tx, `INSERT INTO alarm_occurrences (seq, id, code, source, source_type, message, severity, raised_us,
		returned_us, cleared_us, acknowledged_us, acknowledged_by, comment, active, latching, withheld, labels, cause) VALUES`, rows, last,
		`ON CONFLICT (seq) DO UPDATE SET source = excluded.source, source_type = excluded.source_type,
		message = excluded.message, severity = excluded.severity, raised_us = excluded.raised_us,
		returned_us = excluded.returned_us, cleared_us = excluded.cleared_us, acknowledged_us = excluded.acknowledged_us,
		acknowledged_by = excluded.acknowledged_by, comment = excluded.comment, active = excluded.active,
		latching = excluded.latching, withheld = excluded.withheld, labels = excluded.labels, cause = excluded.cause`)
}

func writeCause(c alarms.Cause) (string, error) {
	if c == (alarms.Cause{}) {
		return "", nil
	}
	text, err := json.Marshal(c)
	return string(text), err
}

const selectCondition = "SELECT code, alarm_key, withheld, shelved_until_us, shelved_by, last_seq, withheld_by, withheld_us, withheld_comment FROM alarm_conditions "

// alarmLookup finds what the refs of one call name and returns each condition and occurrence once.
type alarmLookup struct {
	code    int64 // last assigned
	created []*alarms.Condition
	byCode  map[int64]*alarms.Condition
	byKey   map[string]*alarms.Condition
	byID    map[string]*alarms.Occurrence
	bySeq   map[int64]*alarms.Occurrence
	last    map[int64]int64 // code -> Seq of the newest occurrence
}

func newAlarmLookup(code int64) *alarmLookup {
	return &alarmLookup{code: code, byCode: make(map[int64]*alarms.Condition), byKey: make(map[string]*alarms.Condition),
		byID: make(map[string]*alarms.Occurrence), bySeq: make(map[int64]*alarms.Occurrence), last: make(map[int64]int64)}
}

func (l *alarmLookup) find(ctx context.Context, tx *storage.Tx, refs []alarms.Ref) ([]alarms.RefResult, error) {
	if err := l.load(ctx, tx, refs); err != nil {
		return nil, err
	}
	found := make([]alarms.RefResult, len(refs))
	for i, ref := range refs {
		var c *alarms.Condition
		switch {
		case ref.ID != "":
			if o := l.byID[storage.Text(ref.ID)]; o != nil {
				found[i] = alarms.RefResult{Condition: l.byCode[o.Code], Occurrence: o}
			}
			continue
		case ref.Key != "":
			key := storage.Text(ref.Key)
			if c = l.byKey[key]; c == nil && ref.Create {
				l.code++
				c = &alarms.Condition{Code: l.code, Key: key}
				l.byKey[key] = c
				l.created = append(l.created, c)
			}
		default:
			c = l.byCode[ref.Code]
		}
		if c != nil {
			found[i] = alarms.RefResult{Condition: c, Occurrence: c.Last}
		}
	}
	return found, nil
}

// load reads what the refs name.
func (l *alarmLookup) load(ctx context.Context, tx *storage.Tx, refs []alarms.Ref) error {
	var ids, keys, codes []any
	for _, ref := range refs {
		switch {
		case ref.ID != "":
			ids = append(ids, storage.Text(ref.ID))
		case ref.Key != "":
			keys = append(keys, storage.Text(ref.Key))
		case ref.Code > 0:
			codes = append(codes, ref.Code)
		}
	}
	err := tx.EachIn(ctx, selectOccurrence+"WHERE o.id IN ", ids, "", func(row storage.Scanner) error {
		o, err := scanOccurrence(row)
		if err != nil {
			return err
		}
		if l.byID[o.ID] == nil { // a list may name it twice
			l.byID[o.ID], l.bySeq[o.Seq] = o, o
			codes = append(codes, o.Code)
		}
		return nil
	})
	if err != nil {
		return err
	}
	read := func(row storage.Scanner) error {
		_, err := l.scan(row)
		return err
	}
	if err := tx.EachIn(ctx, selectCondition+"WHERE alarm_key IN ", keys, "", read); err != nil {
		return err
	}
	if err := tx.EachIn(ctx, selectCondition+"WHERE code IN ", codes, "", read); err != nil {
		return err
	}
	return l.lasts(ctx, tx)
}

// scan reads a condition, unless it is there already.
func (l *alarmLookup) scan(row storage.Scanner) (*alarms.Condition, error) {
	var (
		c    alarms.Condition
		last sql.NullInt64
	)
	if err := row.Scan(&c.Code, &c.Key, &c.Suppression, (*storage.Timestamp)(&c.ShelvedUntil), &c.ShelvedBy, &last, &c.SuppressedBy, (*storage.Timestamp)(&c.SuppressedAt), &c.SuppressionComment); err != nil {
		return &c, err
	}
	if known := l.byCode[c.Code]; known != nil {
		return known, nil
	}
	l.byCode[c.Code], l.byKey[c.Key] = &c, &c
	if last.Valid {
		l.last[c.Code] = last.Int64
	}
	return &c, nil
}

// lasts sets the newest occurrence of the conditions.
func (l *alarmLookup) lasts(ctx context.Context, tx *storage.Tx) error {
	var missing []any
	for _, seq := range l.last {
		if l.bySeq[seq] == nil {
			missing = append(missing, seq)
		}
	}
	err := tx.EachIn(ctx, selectOccurrence+"WHERE o.seq IN ", missing, "", func(row storage.Scanner) error {
		o, err := scanOccurrence(row)
		if err == nil {
			l.bySeq[o.Seq] = o
		}
		return err
	})
	if err != nil {
		return err
	}
	for code, seq := range l.last {
		l.byCode[code].Last = l.bySeq[seq]
	}
	return nil
}
