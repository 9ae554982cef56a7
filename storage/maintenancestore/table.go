package maintenancestore

import (
	"context"
	"errors"
	"math"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
)

// table has what failures and replacements differ in.
type table[R any] struct {
	name, columns string
	time, detail  string // columns of the key
	row           func(R) []any
	scan          func(storage.Scanner) (R, error)
	key           func(R) (recordKey, predictive.Source)
}

// recordKey identifies a record of an alarm; detail is the code of a failure, and the reason of a replacement.
type recordKey struct {
	equipment, component, detail string
	us                           int64
}

// distinct are the records of a list, but for alarms that are in it twice.
type distinct[R any] struct {
	rows [][]any
	byID map[string]R
}

func (t *table[R]) distinct(list []R) (*distinct[R], error) {
	d := &distinct[R]{make([][]any, 0, len(list)), make(map[string]R, len(list))}
	alarms := make(map[recordKey]bool)
	for _, r := range list {
		if key, source := t.key(r); source == predictive.SourceAlarm {
			if alarms[key] {
				continue
			}
			alarms[key] = true
		}
		row := t.row(r)
		id := row[0].(string)
		if _, twice := d.byID[id]; twice {
			return nil, predictive.ErrRecordExists.On("id", id)
		}
		d.byID[id] = r
		d.rows = append(d.rows, row)
	}
	return d, nil
}

// add adds all records or none.
func (t *table[R]) add(ctx context.Context, set *storage.Set, list []R) error {
	d, err := t.distinct(list)
	if err != nil || len(d.rows) == 0 {
		return err
	}
	err = t.addDistinct(ctx, set, d)
	if errors.Is(err, ErrImporting) { // by a process that was killed
		if n, swept := sweep(ctx, set, set.UpdateVital); n > 0 && swept == nil {
			err = t.addDistinct(ctx, set, d)
		}
	}
	return err
}

func (t *table[R]) addDistinct(ctx context.Context, set *storage.Set, d *distinct[R]) error {
	if len(d.rows) > batch {
		return t.load(ctx, set, d)
	}
	return set.Update(ctx, "maintenance.add", func(ctx context.Context, tx *storage.Tx) error {
		return t.insert(ctx, tx, d.rows, d.byID, 0)
	})
}

// insert adds rows of an import, 0 for none. byID has their records, and may have others.
func (t *table[R]) insert(ctx context.Context, tx *storage.Tx, rows [][]any, byID map[string]R, imported int64) error {
	if err := tx.Lock(ctx, t.name); err != nil { // an alarm may be recorded by several at the same time
		return err
	}
	whole := make([][]any, len(rows))
	for i, row := range rows {
		whole[i] = append(row[:len(row):len(row)], imported)
	}
	added := make(map[string]bool, len(rows))
	err := tx.InsertReturning(ctx, "INSERT INTO "+t.name+" ("+t.columns+", import_id) VALUES", whole, "ON CONFLICT DO NOTHING RETURNING id", func(row storage.Scanner) error {
		var id string
		err := row.Scan(&id)
		added[id] = true
		return err
	})
	if err != nil || len(added) == len(rows) {
		return err
	}
	if err := otherImports(ctx, tx, imported); err != nil {
		return err
	}
	left := make(map[string]R)
	for _, row := range rows {
		id := row[0].(string)
		if added[id] {
			continue
		}
		if _, source := t.key(byID[id]); source != predictive.SourceAlarm {
			return predictive.ErrRecordExists.On("id", id)
		}
		left[id] = byID[id]
	}
	return t.mustRepeat(ctx, tx, left)
}

// mustRepeat returns ErrRecordExists unless each of the records, which were not added, is of an alarm that there is a record of.
func (t *table[R]) mustRepeat(ctx context.Context, tx *storage.Tx, left map[string]R) error {
	ids := make([]any, 0, len(left))
	for id := range left {
		ids = append(ids, id)
	}
	taken := make(map[string]R)
	err := tx.EachIn(ctx, "SELECT "+t.columns+" FROM "+t.name+" WHERE id IN ", ids, "", func(row storage.Scanner) error {
		r, err := t.scan(row)
		if err != nil {
			return err
		}
		taken[t.row(r)[0].(string)] = r
		return nil
	})
	if err != nil {
		return err
	}
	for id, r := range taken {
		want, _ := t.key(left[id])
		if have, source := t.key(r); have == want && source == predictive.SourceAlarm {
			continue
		}
		var n int
		err := tx.Row(ctx, "SELECT COUNT(*) FROM "+t.name+" WHERE equipment_id = ? AND component = ? AND "+t.detail+" = ? AND "+t.time+" = ? AND source = 'alarm'",
			[]any{want.equipment, want.component, want.detail, want.us}, &n)
		if err != nil {
			return err
		}
		if n == 0 {
			return predictive.ErrRecordExists.On("id", id)
		}
	}
	return nil
}

func (t *table[R]) find(ctx context.Context, set *storage.Set, q predictive.RecordQuery) (p predictive.Page[R], err error) {
	where, args := " WHERE "+visible, []any(nil)
	and := func(condition string, value any) {
		where += " AND " + condition
		args = append(args, value)
	}
	if q.EquipmentID != "" {
		and("equipment_id = ?", storage.Text(q.EquipmentID))
	}
	if q.Component != "" {
		and("component = ?", storage.Text(q.Component))
	}
	if !q.From.IsZero() {
		and(t.time+" >= ?", storage.CeilMicros(q.From))
	}
	if !q.To.IsZero() {
		and(t.time+" < ?", storage.CeilMicros(q.To))
	}
	limit := int64(math.MaxInt64)
	if q.Limit > 0 {
		limit = int64(q.Limit)
	}
	err = set.View(ctx, "maintenance.list", func(ctx context.Context, tx *storage.Tx) error {
		p = predictive.Page[R]{}
		if q.Count {
			if err := tx.Row(ctx, "SELECT COUNT(*) FROM "+t.name+where, args, &p.Total); err != nil {
				return err
			}
		}
		return tx.Each(ctx, "SELECT "+t.columns+" FROM "+t.name+where+" ORDER BY "+t.time+", id LIMIT ? OFFSET ?",
			append(args[:len(args):len(args)], limit, q.Offset), func(row storage.Scanner) error {
				r, err := t.scan(row)
				p.Items = append(p.Items, r)
				return err
			})
	})
	return p, err
}

func (t *table[R]) remove(ctx context.Context, set *storage.Set, id string) error {
	return set.UpdateVital(ctx, "maintenance.remove", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM "+t.name+" WHERE id = ? AND "+visible, storage.Text(id))
		if err == nil && n == 0 {
			return predictive.ErrRecordNotFound.On("id", id)
		}
		return err
	})
}
