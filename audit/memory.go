package audit

import (
	"context"
	"slices"
	"sync"
)

// Memory is a [Store] that loses everything when the process ends. Safe for concurrent use.
type Memory struct {
	mu       sync.RWMutex
	anchor   Link
	entries  []Entry
	outcomes map[int64]int64 // number of the first outcome by that of its intent
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{outcomes: make(map[int64]int64)} }

func (m *Memory) head() Link {
	if len(m.entries) == 0 {
		return m.anchor
	}
	return m.entries[len(m.entries)-1].Link()
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, entries []Entry) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.head().Seq + 1
	for _, e := range entries {
		m.add(e)
	}
	return first, nil
}

func (m *Memory) add(e Entry) {
	e = e.Seal(m.head())
	e.Objects = slices.Clone(e.Objects)
	m.entries = append(m.entries, e)
	if _, twice := m.outcomes[e.Intent]; e.Intent != 0 && !twice {
		m.outcomes[e.Intent] = e.Seq
	}
}

// at returns the entry of a number, nil for none.
func (m *Memory) at(seq int64) *Entry {
	i := seq - m.anchor.Seq - 1
	if i < 0 || i >= int64(len(m.entries)) {
		return nil
	}
	return &m.entries[i]
}

// Records implements [Store].
func (m *Memory) Records(ctx context.Context, q Query) ([]Record, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var page []Record
	var total int64
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		if e.Intent != 0 {
			continue
		}
		r := Join(e, m.at(m.outcomes[e.Seq]), q.LostBefore)
		if !q.Matches(r) {
			continue
		}
		if total++; total > int64(q.Offset) && len(page) < q.Limit {
			r.Objects = slices.Clone(r.Objects)
			page = append(page, r)
		} else if !q.Count && len(page) == q.Limit {
			break
		}
	}
	if !q.Count {
		total = 0
	}
	return page, total, nil
}

// Entries implements [Store].
func (m *Memory) Entries(ctx context.Context, after int64, limit int) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	from := min(max(after-m.anchor.Seq, 0), int64(len(m.entries)))
	part := slices.Clone(m.entries[from:min(from+int64(limit), int64(len(m.entries)))])
	for i := range part {
		part[i].Objects = slices.Clone(part[i].Objects)
	}
	return part, nil
}

// Ends implements [Store].
func (m *Memory) Ends(ctx context.Context) (anchor, head Link, err error) {
	if err := ctx.Err(); err != nil {
		return Link{}, Link{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.anchor, m.head(), nil
}

// Trim implements [Store].
func (m *Memory) Trim(ctx context.Context, cut Cut, notice func(int64, Link) Entry) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := len(m.entries)
	n := 0
	for n < all && (m.entries[n].Time.Before(cut.Before) || cut.Keep > 0 && int64(all-n) > cut.Keep) {
		n++
	}
	n = min(n, all-1, int(cut.Max))
	if n <= 0 {
		return 0, nil
	}
	last := m.entries[n-1].Link()
	for _, e := range m.entries[:n] {
		delete(m.outcomes, e.Seq)
		delete(m.outcomes, e.Intent)
	}
	m.entries, m.anchor = slices.Clone(m.entries[n:]), last
	m.add(notice(int64(n), last))
	return int64(n), nil
}
