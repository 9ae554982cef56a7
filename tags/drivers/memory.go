package drivers

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Memory is a Repository in memory.
type Memory struct {
	mu  sync.Mutex
	all map[string]Definition
}

// NewMemory returns an empty repository.
func NewMemory() *Memory { return &Memory{all: map[string]Definition{}} }

// Load implements Repository.
func (m *Memory) Load(_ context.Context, engine string) (list []Definition, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, d := range m.all {
		if d.Engine == "" {
			d.Engine = engine
			m.all[id] = d
		}
		if d.Engine == engine {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b Definition) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Get implements Repository.
func (m *Memory) Get(_ context.Context, id string) (Definition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.all[id]
	if !ok {
		return d, ErrNotFound.On("driverId", id)
	}
	return d, nil
}

// Insert implements Repository.
func (m *Memory) Insert(_ context.Context, d Definition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.all[d.ID]; taken {
		return ErrExists.On("driverId", d.ID)
	}
	d.Settings = slices.Clone(d.Settings)
	m.all[d.ID] = d
	return nil
}

// Update implements Repository.
func (m *Memory) Update(_ context.Context, d Definition, was int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(d.ID, was); err != nil {
		return err
	}
	d.Settings = slices.Clone(d.Settings)
	m.all[d.ID] = d
	return nil
}

// Delete implements Repository.
func (m *Memory) Delete(_ context.Context, id string, was int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(id, was); err != nil {
		return err
	}
	delete(m.all, id)
	return nil
}

func (m *Memory) check(id string, was int64) error {
	switch d, ok := m.all[id]; {
	case !ok:
		return ErrNotFound.On("driverId", id)
	case d.Revision != was:
		return ErrChanged.On("driverId", id)
	}
	return nil
}
