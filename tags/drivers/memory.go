package drivers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// Memory is a Repository in memory.
type Memory struct {
	mu      sync.Mutex
	all     map[string]Definition
	version int64
}

// NewMemory returns an empty repository.
func NewMemory() *Memory { return &Memory{all: map[string]Definition{}} }

// Load implements Repository.
func (m *Memory) Load(context.Context) ([]Definition, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.all), func(a, b Definition) int { return cmp.Compare(a.ID, b.ID) }), m.version, nil
}

// Version implements Repository.
func (m *Memory) Version(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version, nil
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
	m.put(d)
	return nil
}

// Update implements Repository.
func (m *Memory) Update(_ context.Context, d Definition, was int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(d.ID, was); err != nil {
		return err
	}
	m.put(d)
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
	m.version++
	return nil
}

func (m *Memory) put(d Definition) {
	d.Settings, d.Requires = slices.Clone(d.Settings), maps.Clone(d.Requires)
	m.all[d.ID] = d
	m.version++
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
