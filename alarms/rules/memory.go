package rules

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/otkit/otkit/alarms"
)

// Memory is a [Store] and [StateStore] in memory. It is safe for concurrent use; an update function must not call back into the same
// Memory.
type Memory struct {
	mu      sync.RWMutex
	rules   map[string]Rule
	ruleIDs []string // ascending
	states  map[string]State
	edits   int64 // changes of rules
}

var (
	_ Store      = (*Memory)(nil)
	_ Pager      = (*Memory)(nil)
	_ Versioner  = (*Memory)(nil)
	_ StateStore = (*Memory)(nil)
)

// NewMemory returns an empty store. Conditions in target keep their codes as long as there are rules for them; target may be nil.
func NewMemory(target *alarms.Memory) *Memory {
	m := &Memory{rules: make(map[string]Rule), states: make(map[string]State)}
	if target != nil {
		target.KeepKeys(m.keys)
	}
	return m
}

// keys returns the keys of the conditions of all rules.
func (m *Memory) keys() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys := make([]string, 0, len(m.rules))
	for id := range m.rules {
		keys = append(keys, ruleKey+id)
	}
	return keys
}

// clone returns a copy that shares nothing with r.
func (r Rule) clone() Rule {
	r.States = slices.Clone(r.States)
	return r
}

// Rules implements [Store].
func (m *Memory) Rules(ctx context.Context) ([]Rule, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]Rule, 0, len(m.rules))
	for _, id := range m.ruleIDs {
		list = append(list, m.rules[id].clone())
	}
	return list, nil
}

// RulePage implements [Pager].
func (m *Memory) RulePage(ctx context.Context, q Query) ([]Rule, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	page, total := []Rule{}, 0
	for _, id := range m.ruleIDs {
		r := m.rules[id]
		if q.Tag != "" && r.Tag != q.Tag {
			continue
		}
		if total++; total > q.Offset && len(page) < q.Limit {
			page = append(page, r.clone())
		}
	}
	return page, total, nil
}

// Rule implements [Store].
func (m *Memory) Rule(ctx context.Context, id string) (Rule, error) {
	if err := ctx.Err(); err != nil {
		return Rule{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.rules[id]
	if !ok {
		return Rule{}, ErrNotFound.On("ruleId", id)
	}
	return r.clone(), nil
}

// AddRule implements [Store].
func (m *Memory) AddRule(ctx context.Context, r Rule) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.rules[r.ID]; ok {
		return ErrExists.On("ruleId", r.ID)
	}
	m.rules[r.ID] = r.clone()
	at, _ := slices.BinarySearch(m.ruleIDs, r.ID)
	m.ruleIDs = slices.Insert(m.ruleIDs, at, r.ID)
	m.edits++
	return nil
}

// UpdateRule implements [Store].
func (m *Memory) UpdateRule(ctx context.Context, id string, update func(*Rule) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rules[id]
	if !ok {
		return ErrNotFound.On("ruleId", id)
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

// RemoveRule implements [Store].
func (m *Memory) RemoveRule(ctx context.Context, id string, match func(Rule) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rules[id]
	if !ok {
		return ErrNotFound.On("ruleId", id)
	}
	if match != nil {
		if err := match(r.clone()); err != nil {
			return err
		}
	}
	delete(m.rules, id)
	at, _ := slices.BinarySearch(m.ruleIDs, id)
	m.ruleIDs = slices.Delete(m.ruleIDs, at, at+1)
	delete(m.states, id)
	m.edits++
	return nil
}

// RulesVersion implements [Versioner].
func (m *Memory) RulesVersion(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.edits, nil
}

// RuleStates implements [StateStore].
func (m *Memory) RuleStates(ctx context.Context) ([]State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]State, 0, len(m.states))
	for _, id := range slices.Sorted(maps.Keys(m.states)) {
		list = append(list, m.states[id])
	}
	return list, nil
}

// PutRuleStates implements [StateStore].
func (m *Memory) PutRuleStates(ctx context.Context, states []State) error {
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
