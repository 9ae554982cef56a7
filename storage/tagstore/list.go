package tagstore

import (
	"context"
	"slices"
	"strings"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/internal/search"
	"github.com/otkit/otkit/tags"
)

// columns are what scanWrite reads.
const columns = "id, tag, driver, address, value_type, value, written_by, state, error, confirm, queued_us, completed_us"

func scanWrite(row storage.Scanner) (tags.Write, error) {
	var (
		w     tags.Write
		kind  string
		value []byte
	)
	err := row.Scan(&w.ID, &w.Tag, &w.Driver, &w.Address, &kind, &value, &w.By, &w.State, &w.Error, &w.Confirm,
		(*storage.Timestamp)(&w.QueuedAt), (*storage.Timestamp)(&w.CompletedAt))
	if err != nil || kind == "" {
		return w, err
	}
	if w.Value, err = tags.ParseValue(tags.DataType(kind), string(value)); err != nil {
		return w, storage.ErrCorrupt.On("write", w.ID).Wrap(err)
	}
	return w, nil
}

// List implements tags.WriteLog.
func (s *Store) List(ctx context.Context, q tags.WriteQuery) (tags.WritePage, error) {
	var page tags.WritePage
	live := make(map[string]tags.Write, len(q.Live))
	for _, w := range q.Live {
		live[w.ID] = w
	}
	err := s.set.View(ctx, "writes.list", func(ctx context.Context, tx *storage.Tx) error {
		page = tags.WritePage{}
		parts, err := partsOf(tx, &q)
		if err != nil {
			return err
		}
		if q.Count {
			if page.Total, err = count(ctx, tx, parts); err != nil {
				return err
			}
		}
		if q.Limit <= 0 {
			return nil
		}
		which, args := ids(parts, max(q.Offset, 0), q.Limit)
		return tx.Each(ctx, "SELECT "+columns+" FROM tag_writes WHERE id IN ("+which+") ORDER BY queued_us DESC, id DESC", args, func(row storage.Scanner) error {
			w, err := scanWrite(row)
			if known, ok := live[w.ID]; ok && err == nil {
				w = known
			}
			page.Writes = append(page.Writes, w)
			return err
		})
	})
	return page, err
}

// condition selects rows.
type condition struct {
	where string
	args  []any
}

func (c *condition) and(where string, args ...any) {
	c.where += " AND " + where
	c.args = append(c.args[:len(c.args):len(c.args)], args...)
}

// exceptions is the condition of an index, which must be in a query for the index to be used.
const exceptions = "state NOT IN ('Written', 'Confirmed')"

// partsOf returns conditions for rows that together are what a query selects, none of them twice.
func partsOf(tx *storage.Tx, q *tags.WriteQuery) ([]condition, error) {
	all := filtered(&q.WriteFilter)
	if len(q.States) == 0 {
		return []condition{all}, nil
	}
	stored := all
	if !slices.Contains(q.States, tags.WriteDone) && !slices.Contains(q.States, tags.WriteConfirmed) {
		stored.and(exceptions)
	}
	states := make([]any, 0, len(tags.WriteStates())+1)
	for _, state := range tags.WriteStates() {
		if slices.Contains(q.States, state) {
			states = append(states, string(state))
		}
	}
	if len(states) == 0 {
		states = append(states, "") // none, but a list cannot be empty
	}
	stored.and("state IN (?"+strings.Repeat(", ?", len(states)-1)+")", states...)
	if len(q.Live) == 0 {
		return []condition{stored}, nil
	}
	var known, selected []any
	for _, w := range q.Live {
		known = append(known, w.ID)
		if slices.Contains(q.States, w.State) {
			selected = append(selected, w.ID)
		}
	}
	list, arg, err := tx.List(known)
	if err != nil {
		return nil, err
	}
	stored.and("NOT (id "+list+")", arg)
	if len(selected) == 0 {
		return []condition{stored}, nil
	}
	if list, arg, err = tx.List(selected); err != nil {
		return nil, err
	}
	all.and("id "+list, arg)
	return []condition{stored, all}, nil
}

// filtered returns the condition for what a filter selects, without its states.
func filtered(f *tags.WriteFilter) condition {
	c := condition{where: "1 = 1"}
	for _, one := range []struct{ column, value string }{{"driver", f.Driver}, {"tag", f.Tag}, {"written_by", f.By}} {
		if one.value != "" {
			c.and(one.column+" = ?", storage.Text(one.value))
		}
	}
	if f.Address != "" {
		c.and("lower(address) = ?", storage.Text(tags.FoldAddress(f.Address)))
	}
	if !f.Start.IsZero() || !f.End.IsZero() {
		from, to := search.Bounds(f.Start, f.End)
		c.and("queued_us >= ? AND queued_us < ?", from, to)
	}
	return c
}

func count(ctx context.Context, tx *storage.Tx, parts []condition) (total int, err error) {
	for _, c := range parts {
		var n int
		if err := tx.Row(ctx, "SELECT COUNT(*) FROM tag_writes WHERE "+c.where, c.args, &n); err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// ids returns the query for the ids of a page. The rows to skip are looked up in an index, if it has what the conditions are about.
func ids(parts []condition, offset, limit int) (string, []any) {
	const order = " ORDER BY queued_us DESC, id DESC LIMIT ?"
	if len(parts) == 1 {
		return "SELECT id FROM tag_writes WHERE " + parts[0].where + order + " OFFSET ?", append(parts[0].args[:len(parts[0].args):len(parts[0].args)], limit, offset)
	}
	stored, known := parts[0], parts[1]
	return "SELECT id FROM (SELECT * FROM (SELECT id, queued_us FROM tag_writes WHERE " + stored.where + order + ") AS s UNION ALL SELECT id, queued_us FROM tag_writes WHERE " +
		known.where + ") AS a" + order + " OFFSET ?", slices.Concat(stored.args, []any{int64(offset) + int64(limit)}, known.args, []any{limit, offset})
}
