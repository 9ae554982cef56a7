package alarms

import (
	"context"
	"maps"
	"slices"
)

// clone gives a copy that shares nothing with r.
func (r Rule) clone() Rule {
	r.States = slices.Clone(r.States)
	return r
}

// Rules implements [RuleStore].
func (m *Memory) Rules(ctx context.Context) ([]Rule, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]Rule, 0, len(m.rules))
	for _, id := range slices.Sorted(maps.Keys(m.rules)) {
		list = append(list, m.rules[id].clone())
	}
	return list, nil
}

// Rule implements [RuleStore].
func (m *Memory) Rule(ctx context.Context, id string) (Rule, error) {
	if err := ctx.Err(); err != nil {
		return Rule{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.rules[id]
	if !ok {
		return Rule{}, ErrRuleNotFound.On("ruleId", id)
	}
	return r.clone(), nil
}

// AddRule implements [RuleStore].
func (m *Memory) AddRule(ctx context.Context, r Rule) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.rules[r.ID]; ok {
		return ErrRuleExists.On("ruleId", r.ID)
	}
	m.rules[r.ID] = r.clone()
	m.edits++
	return nil
}

// UpdateRule implements [RuleStore].
func (m *Memory) UpdateRule(ctx context.Context, id string, update func(*Rule) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rules[id]
	if !ok {
		return ErrRuleNotFound.On("ruleId", id)
	}
	r = r.clone()
	if err := update(&r); err != nil {
		return err
	}
	r.ID = id
	m.rules[id] = r.clone()
	m.edits++
	return nil
}

// RemoveRule implements [RuleStore].
func (m *Memory) RemoveRule(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.rules[id]; !ok {
		return ErrRuleNotFound.On("ruleId", id)
	}
	delete(m.rules, id)
	delete(m.states, id)
	m.edits++
	return nil
}

// RulesVersion implements [RuleStore].
func (m *Memory) RulesVersion(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.edits, nil
}

// RuleStates implements [RuleStateStore].
func (m *Memory) RuleStates(ctx context.Context) ([]RuleState, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]RuleState, 0, len(m.states))
	for _, id := range slices.Sorted(maps.Keys(m.states)) {
		list = append(list, m.states[id])
	}
	return list, nil
}

// PutRuleStates implements [RuleStateStore].
func (m *Memory) PutRuleStates(ctx context.Context, states []RuleState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range states {
		if _, ok := m.rules[s.RuleID]; ok {
			m.states[s.RuleID] = s
		}
	}
	return nil
}
