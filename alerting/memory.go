package alerting

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a [SilenceStore], [HistoryStore], [Outbox] and [DeadLetters] that forgets everything when
// the process ends. Safe for concurrent use. It keeps the newest 100,000 records.
type Memory struct {
	mu       sync.RWMutex
	silences map[string]Silence
	records  recordTable
	outbox   deliveryTable
	work     chan struct{} // holds a token while exclusive work runs
}

var (
	_ SilenceStore = (*Memory)(nil)
	_ HistoryStore = (*Memory)(nil)
	_ Outbox       = (*Memory)(nil)
	_ DeadLetters  = (*Memory)(nil)
)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{silences: make(map[string]Silence), records: newRecordTable(), outbox: newDeliveryTable(), work: make(chan struct{}, 1)}
}

// AddSilence implements [SilenceStore].
func (m *Memory) AddSilence(ctx context.Context, s Silence) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silences[s.ID] = s
	return nil
}

// RemoveSilence implements [SilenceStore].
func (m *Memory) RemoveSilence(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.silences[id]; !ok {
		return ErrSilenceNotFound.On("silenceId", id)
	}
	delete(m.silences, id)
	return nil
}

// Silences implements [SilenceStore].
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
