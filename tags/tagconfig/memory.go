package tagconfig

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Memory is a [Repository] in memory. Make it with [NewMemory].
type Memory struct {
	mu      sync.Mutex
	records map[string]Record
	state   State
}

// NewMemory returns an empty Repository in memory.
func NewMemory() *Memory { return &Memory{records: map[string]Record{}} }

// Load implements [Repository].
func (m *Memory) Load(ctx context.Context, each func(Record) error) (State, error) {
	records, state := m.since(-1)
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.Position, b.Position) })
	records = slices.DeleteFunc(records, func(r Record) bool { return r.Text == nil })
	return state, eachRecord(ctx, records, each)
}

// Changes implements [Repository].
func (m *Memory) Changes(ctx context.Context, since int64, each func(Record) error) (State, error) {
	records, state := m.since(since)
	if since > state.Revision {
		return state, ErrRevision
	}
	return state, eachRecord(ctx, records, each)
}

func (m *Memory) since(revision int64) (found []Record, state State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.records {
		if r.Revision > revision {
			found = append(found, r)
		}
	}
	return found, m.state
}

func eachRecord(ctx context.Context, records []Record, each func(Record) error) error {
	for _, r := range records {
		if err := each(r); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Apply implements [Repository].
func (m *Memory) Apply(ctx context.Context, from int64, change Changeset) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case from != m.state.Revision:
		return 0, ErrRevision
	}
	m.state.Revision++
	for _, r := range change.Records {
		r.Revision, r.Text = m.state.Revision, slices.Clone(r.Text)
		m.records[r.TagID] = r
	}
	if change.Header != nil {
		m.state.Header = slices.Clone(change.Header)
	}
	if change.File != nil {
		m.state.File = *change.File
	}
	return m.state.Revision, nil
}

// NoteFile implements [Repository].
func (m *Memory) NoteFile(ctx context.Context, file FileState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		m.state.File = file
	}
	return ctx.Err()
}
