package alarmstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/storage"
)

func parseRule(id, text string) (r rules.Rule, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, storage.ErrCorrupt.On("rule", id).Wrap(err)
	}
	return r, nil
}

// Rules implements rules.Store.
func (s *Store) Rules(ctx context.Context) ([]rules.Rule, error) {
	var all []rules.Rule
	err := s.set.View(ctx, "alarmrules.list", func(ctx context.Context, tx *storage.Tx) error {
		all = []rules.Rule{}
		return tx.Each(ctx, "SELECT id, rule FROM alarm_rules ORDER BY id", nil, func(row storage.Scanner) error {
			var id, text string
			if err := row.Scan(&id, &text); err != nil {
				return err
			}
			r, err := parseRule(id, text)
			if err != nil { // the others can be read
				r = rules.Rule{ID: id, Unreadable: true}
			}
			all = append(all, r)
			return nil
		})
	})
	return all, err
}

func readRule(ctx context.Context, tx *storage.Tx, id string) (rules.Rule, error) {
	var text string
	err := tx.Row(ctx, "SELECT rule FROM alarm_rules WHERE id = ?", []any{storage.Text(id)}, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return rules.Rule{}, rules.ErrNotFound.On("ruleId", id)
	}
	if err != nil {
		return rules.Rule{}, err
	}
	return parseRule(id, text)
}

// Rule implements rules.Store.
func (s *Store) Rule(ctx context.Context, id string) (r rules.Rule, err error) {
	err = s.set.View(ctx, "alarmrules.get", func(ctx context.Context, tx *storage.Tx) error {
		r, err = readRule(ctx, tx, id)
		return err
	})
	return r, err
}

// AddRule implements rules.Store.
func (s *Store) AddRule(ctx context.Context, r rules.Rule) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = s.set.Update(ctx, "alarmrules.add", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO alarm_rules (id, rule) VALUES (?, ?)", r.ID, string(text)); err != nil {
			return err
		}
		return changedRules(ctx, tx)
	})
	if errors.Is(err, storage.ErrUnique) {
		return rules.ErrExists.On("ruleId", r.ID)
	}
	return err
}

// UpdateRule implements rules.Store.
func (s *Store) UpdateRule(ctx context.Context, id string, update func(*rules.Rule) error) error {
	return s.set.Update(ctx, "alarmrules.update", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		r, err := readRule(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := update(&r); err != nil {
			return err
		}
		r.ID = id
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, "UPDATE alarm_rules SET rule = ? WHERE id = ?", string(text), id); err != nil {
			return err
		}
		return changedRules(ctx, tx)
	})
}

// RemoveRule implements rules.Store.
func (s *Store) RemoveRule(ctx context.Context, id string, match func(rules.Rule) error) error {
	return s.set.Update(ctx, "alarmrules.remove", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		if match != nil {
			r, err := readRule(ctx, tx, id)
			if errors.Is(err, storage.ErrCorrupt) {
				r, err = rules.Rule{ID: id, Unreadable: true}, nil
			}
			if err == nil {
				err = match(r)
			}
			if err != nil {
				return err
			}
		}
		n, err := tx.Exec(ctx, "DELETE FROM alarm_rules WHERE id = ?", storage.Text(id))
		if err != nil {
			return err
		}
		if n == 0 {
			return rules.ErrNotFound.On("ruleId", id)
		}
		if _, err = tx.Exec(ctx, "DELETE FROM alarm_rule_states WHERE rule_id = ?", storage.Text(id)); err != nil {
			return err
		}
		return changedRules(ctx, tx)
	})
}

// changedRules counts a change. The lock of alarm_rules is held.
func changedRules(ctx context.Context, tx *storage.Tx) error {
	_, err := tx.Exec(ctx, "UPDATE alarm_rules_version SET version = version + 1 WHERE id = 1")
	return err
}

// RulesVersion implements rules.Store.
func (s *Store) RulesVersion(ctx context.Context) (version int64, err error) {
	err = s.set.View(ctx, "alarmrules.version", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT version FROM alarm_rules_version WHERE id = 1", nil, &version)
	})
	return version, err
}

// RuleStates implements rules.StateStore.
func (s *Store) RuleStates(ctx context.Context) ([]rules.State, error) {
	var all []rules.State
	err := s.set.View(ctx, "alarmrules.states", func(ctx context.Context, tx *storage.Tx) error {
		all = []rules.State{}
		return tx.Each(ctx, "SELECT rule_id, phase, since_us FROM alarm_rule_states ORDER BY rule_id", nil, func(row storage.Scanner) error {
			var r rules.State
			err := row.Scan(&r.RuleID, &r.Phase, (*storage.Timestamp)(&r.Since))
			all = append(all, r)
			return err
		})
	})
	return all, err
}

// PutRuleStates implements rules.StateStore.
func (s *Store) PutRuleStates(ctx context.Context, states []rules.State) error {
	if len(states) == 0 {
		return nil
	}
	at := make(map[string]rules.State, len(states)) // the last one of a rule counts
	keys := make([]any, 0, len(states))
	for _, state := range states {
		id := storage.Text(state.RuleID)
		if _, again := at[id]; !again {
			keys = append(keys, id)
		}
		at[id] = state
	}
	return s.set.UpdateVital(ctx, "alarmrules.put", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		known := make(map[string]bool, len(keys))
		err := tx.EachIn(ctx, "SELECT id FROM alarm_rules WHERE id IN ", keys, "", func(row storage.Scanner) error {
			var id string
			err := row.Scan(&id)
			known[id] = true
			return err
		})
		if err != nil {
			return err
		}
		rows := make([][]any, 0, len(known))
		for _, key := range keys {
			if id := key.(string); known[id] {
				rows = append(rows, []any{id, string(at[id].Phase), storage.Timestamp(at[id].Since)})
			}
		}
		return tx.Insert(ctx, "INSERT INTO alarm_rule_states (rule_id, phase, since_us) VALUES", rows,
			"ON CONFLICT (rule_id) DO UPDATE SET phase = excluded.phase, since_us = excluded.since_us")
	})
}
