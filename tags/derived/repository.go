package derived

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Document is a definition as a [Repository] keeps it: a derived tag, a template or an instance of one.
type Document struct {
	Kind, ID  string
	Revision  int64  // 1 when it was added; grows with each change
	Body      []byte // JSON
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Key names a document.
type Key struct{ Kind, ID string }

// Repository keeps documents. It must be safe for concurrent use, by several processes where they share it. Package derivedtest has
// its conformance suite.
type Repository interface {
	// Documents returns all documents of a kind by id.
	Documents(ctx context.Context, kind string) ([]Document, error)

	// Position returns a number that has grown whenever documents have changed.
	Position(ctx context.Context) (int64, error)

	// Change adds, replaces and removes documents, all or none, durably. put has the revision that a document gets: 1 for one that must
	// not be there, or else one more than it must have now. remove has the revision that a document must have now. If one is
	// another, nothing changes and the error is [ErrChanged]. The time of creation of a document that is there stays. Change returns the
	// position after it.
	Change(ctx context.Context, put, remove []Document) (int64, error)
}

// Memory is a [Repository] in memory.
type Memory struct {
	mu       sync.Mutex
	position int64
	all      map[Key]Document
}

// NewMemory returns an empty Repository.
func NewMemory() *Memory { return &Memory{all: make(map[Key]Document)} }

// Documents implements [Repository].
func (m *Memory) Documents(_ context.Context, kind string) (list []Document, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, d := range m.all {
		if k.Kind == kind {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b Document) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Position implements [Repository].
func (m *Memory) Position(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.position, nil
}

// Change implements [Repository].
func (m *Memory) Change(_ context.Context, put, remove []Document) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range remove {
		if m.all[Key{d.Kind, d.ID}].Revision != d.Revision {
			return 0, ErrChanged.On("id", d.ID)
		}
	}
	for _, d := range put {
		if m.all[Key{d.Kind, d.ID}].Revision != d.Revision-1 {
			return 0, ErrChanged.On("id", d.ID)
		}
	}
	for _, d := range remove {
		delete(m.all, Key{d.Kind, d.ID})
	}
	for _, d := range put {
		k := Key{d.Kind, d.ID}
		if was, ok := m.all[k]; ok {
			d.CreatedAt = was.CreatedAt
		}
		m.all[k] = d
	}
	m.position++
	return m.position, nil
}
