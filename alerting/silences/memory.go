package silences

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory. Safe for concurrent use.
type Memory struct {
	mu       sync.RWMutex
	silences map[string]Silence
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{silences: make(map[string]Silence)} }

// AddSilence implements [Store].
func (m *Memory) AddSilence(ctx context.Context, s Silence, room Room) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Anonymous && !m.makeRoom(s, room.Anonymous, true) || !m.makeRoom(s, room.Total, false) {
		return ErrTooMany
	}
	m.silences[s.ID] = s
	return nil
}

// makeRoom removes silences that ended until there is room for one more. mu is held.
func (m *Memory) makeRoom(s Silence, room int, anonymous bool) bool {
	if room <= 0 {
		return true
	}
	n := 0
	var ended []Silence
	for _, one := range m.silences {
		if one.Anonymous || !anonymous {
			if n++; !one.EndsAt.After(s.CreatedAt) {
				ended = append(ended, one)
			}
		}
	}
	if n-len(ended) >= room {
		return false
	}
	slices.SortFunc(ended, func(a, b Silence) int { return cmp.Or(a.EndsAt.Compare(b.EndsAt), cmp.Compare(a.ID, b.ID)) })
	for i := range max(n-room+1, 0) {
		delete(m.silences, ended[i].ID)
	}
	return true
}

// ChangeSilence implements [Store].
func (m *Memory) ChangeSilence(ctx context.Context, id string, change func(*Silence) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ok := m.silences[id]
	if !ok {
		return ErrNotFound.On("silenceId", id)
	}
	n := kept
	if err := change(&n); err != nil {
		return err
	}
	kept.SourceType, kept.Pattern, kept.Reason, kept.EndsAt = n.SourceType, n.Pattern, n.Reason, n.EndsAt
	m.silences[id] = kept
	return nil
}

// RemoveSilence implements [Store].
func (m *Memory) RemoveSilence(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.silences[id]; !ok {
		return ErrNotFound.On("silenceId", id)
	}
	delete(m.silences, id)
	return nil
}

// Silences implements [Store].
func (m *Memory) Silences(ctx context.Context, endsAfter time.Time) ([]Silence, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]Silence, 0, len(m.silences))
	for _, s := range m.silences {
		if s.EndsAt.After(endsAfter) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Silence) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}
