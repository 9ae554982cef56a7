package alarmstore

import (
	"context"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/storage"
)

// ruleOrder is the order of the readable rules at one version of them. It is never changed.
type ruleOrder struct {
	version int64
	ids     []string // ascending
	tags    []string // of each
}

// choose returns the ids of a page and the number of all rules that are selected.
func (o *ruleOrder) choose(q rules.Query) (ids []any, total int) {
	from, to := max(q.Offset, 0), max(q.Offset, 0)+q.Limit
	if q.Tag == "" {
		for _, id := range o.ids[min(from, len(o.ids)):min(to, len(o.ids))] {
			ids = append(ids, id)
		}
		return ids, len(o.ids)
	}
	for i, tag := range o.tags {
		if tag != q.Tag {
			continue
		}
		if total >= from && total < to {
			ids = append(ids, o.ids[i])
		}
		total++
	}
	return ids, total
}

// RulePage implements rules.Store. The rules are read in order once after each change of one.
func (s *Store) RulePage(ctx context.Context, q rules.Query) (page []rules.Rule, total int, err error) {
	q.Limit = max(q.Limit, 0)
	err = s.set.View(ctx, "alarmrules.page", func(ctx context.Context, tx *storage.Tx) error {
		page = []rules.Rule{}
		// The transaction sees one state of the database: a version and its rules belong together.
		order, err := s.ordered(ctx, tx)
		if err != nil {
			return err
		}
		var ids []any
		ids, total = order.choose(q)
		found := make(map[string]rules.Rule, len(ids))
		err = tx.EachIn(ctx, "SELECT id, rule FROM alarm_rules WHERE id IN ", ids, "", func(row storage.Scanner) error {
			var id, text string
			if err := row.Scan(&id, &text); err != nil {
				return err
			}
			if r, err := parseRule(id, text); err == nil { // the others can be read
				found[id] = r
			}
			return nil
		})
		for _, id := range ids {
			if r, ok := found[id.(string)]; ok {
				page = append(page, r)
			}
		}
		return err
	})
	return page, total, err
}

// ordered returns the order of the rules that the transaction sees.
func (s *Store) ordered(ctx context.Context, tx *storage.Tx) (*ruleOrder, error) {
	fresh := &ruleOrder{}
	if err := tx.Row(ctx, "SELECT version FROM alarm_rules_version WHERE id = 1", nil, &fresh.version); err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.order
	s.mu.Unlock()
	if known != nil && known.version == fresh.version {
		return known, nil
	}
	err := tx.Each(ctx, "SELECT id, rule FROM alarm_rules ORDER BY id", nil, func(row storage.Scanner) error {
		var id, text string
		if err := row.Scan(&id, &text); err != nil {
			return err
		}
		if r, err := parseRule(id, text); err == nil {
			fresh.ids, fresh.tags = append(fresh.ids, id), append(fresh.tags, r.Tag)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.order == nil || s.order.version < fresh.version {
		s.order = fresh
	}
	return fresh, nil
}
