package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/otkit/otkit/alarms"
)

// AlarmRules is alarms.RuleStore and alarms.RuleStateStore over the database.
type AlarmRules struct{ db *DB }

var (
	_ alarms.RuleStore      = (*AlarmRules)(nil)
	_ alarms.RuleStateStore = (*AlarmRules)(nil)
)

func parseRule(id, text string) (r alarms.Rule, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, ErrCorrupt.On("rule", id).Wrap(err)
	}
	return r, nil
}

// Rules implements alarms.RuleStore.
func (s *AlarmRules) Rules(ctx context.Context) ([]alarms.Rule, error) {
	var all []alarms.Rule
	err := s.db.View(ctx, "alarmrules.list", func(ctx context.Context, tx *Tx) error {
		all = []alarms.Rule{}
		return tx.Each(ctx, "SELECT id, rule FROM alarm_rules ORDER BY id", nil, func(row Scanner) error {
			var id, text string
			if err := row.Scan(&id, &text); err != nil {
				return err
			}
			r, err := parseRule(id, text)
			if err != nil { // the others can be read
				r = alarms.Rule{ID: id, Unreadable: true}
			}
			all = append(all, r)
			return nil
		})
	})
	return all, err
}

func readRule(ctx context.Context, tx *Tx, id string) (alarms.Rule, error) {
	var text string
	err := tx.Row(ctx, "SELECT rule FROM alarm_rules WHERE id = ?", []any{plain(id)}, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return alarms.Rule{}, alarms.ErrRuleNotFound.On("ruleId", id)
	}
	if err != nil {
		return alarms.Rule{}, err
	}
	return parseRule(id, text)
}

// Rule implements alarms.RuleStore.
func (s *AlarmRules) Rule(ctx context.Context, id string) (r alarms.Rule, err error) {
	err = s.db.View(ctx, "alarmrules.get", func(ctx context.Context, tx *Tx) error {
		r, err = readRule(ctx, tx, id)
		return err
	})
	return r, err
}

// AddRule implements alarms.RuleStore.
func (s *AlarmRules) AddRule(ctx context.Context, r alarms.Rule) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = s.db.Update(ctx, "alarmrules.add", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO alarm_rules (id, rule) VALUES (?, ?)", r.ID, string(text)); err != nil {
			return err
		}
		return changedRules(ctx, tx)
	})
	if errors.Is(err, ErrUnique) {
		return alarms.ErrRuleExists.On("ruleId", r.ID)
	}
	return err
}

// UpdateRule implements alarms.RuleStore.
func (s *AlarmRules) UpdateRule(ctx context.Context, id string, update func(*alarms.Rule) error) error {
	return s.db.Update(ctx, "alarmrules.update", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alarm_rules"); err != nil {
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

// RemoveRule implements alarms.RuleStore.
func (s *AlarmRules) RemoveRule(ctx context.Context, id string) error {
	return s.db.Update(ctx, "alarmrules.remove", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM alarm_rules WHERE id = ?", plain(id))
		if err != nil {
			return err
		}
		if n == 0 {
			return alarms.ErrRuleNotFound.On("ruleId", id)
		}
		if _, err = tx.Exec(ctx, "DELETE FROM alarm_rule_states WHERE rule_id = ?", plain(id)); err != nil {
			return err
		}
		return changedRules(ctx, tx)
	})
}

// changedRules counts a change. The lock of alarm_rules is held.
func changedRules(ctx context.Context, tx *Tx) error {
	_, err := tx.Exec(ctx, "UPDATE alarm_rules_version SET version = version + 1 WHERE id = 1")
	return err
}

// RulesVersion implements alarms.RuleStore.
func (s *AlarmRules) RulesVersion(ctx context.Context) (version int64, err error) {
	err = s.db.View(ctx, "alarmrules.version", func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, "SELECT version FROM alarm_rules_version WHERE id = 1", nil, &version)
	})
	return version, err
}

// RuleStates implements alarms.RuleStateStore.
func (s *AlarmRules) RuleStates(ctx context.Context) ([]alarms.RuleState, error) {
	var all []alarms.RuleState
	err := s.db.View(ctx, "alarmrules.states", func(ctx context.Context, tx *Tx) error {
		all = []alarms.RuleState{}
		return tx.Each(ctx, "SELECT rule_id, phase, since_us FROM alarm_rule_states ORDER BY rule_id", nil, func(row Scanner) error {
			var r alarms.RuleState
			err := row.Scan(&r.RuleID, &r.Phase, (*Stamp)(&r.Since))
			all = append(all, r)
			return err
		})
	})
	return all, err
}

// PutRuleStates implements alarms.RuleStateStore.
func (s *AlarmRules) PutRuleStates(ctx context.Context, states []alarms.RuleState) error {
	if len(states) == 0 {
		return nil
	}
	at := make(map[string]alarms.RuleState, len(states)) // the last one of a rule counts
	keys := make([]any, 0, len(states))
	for _, state := range states {
		id := plain(state.RuleID)
		if _, again := at[id]; !again {
			keys = append(keys, id)
		}
		at[id] = state
	}
	return s.db.Update(ctx, "alarmrules.put", func(ctx context.Context, tx *Tx) error {
		if err := tx.lock(ctx, "alarm_rules"); err != nil {
			return err
		}
		known := make(map[string]bool, len(keys))
		err := tx.eachIn(ctx, "SELECT id FROM alarm_rules WHERE id IN ", keys, "", func(row Scanner) error {
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
				rows = append(rows, []any{id, string(at[id].Phase), Stamp(at[id].Since)})
			}
		}
		return tx.Insert(ctx, "INSERT INTO alarm_rule_states (rule_id, phase, since_us) VALUES", rows,
			"ON CONFLICT (rule_id) DO UPDATE SET phase = excluded.phase, since_us = excluded.since_us")
	})
}
