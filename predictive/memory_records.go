package predictive

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// MemoryRecords is a [RecordStore] in memory, for tests and for programs whose records need not outlive them.
type MemoryRecords struct {
	mu           sync.Mutex
	failures     []Failure // in the order of lists
	replacements []Replacement
}

var _ RecordStore = (*MemoryRecords)(nil)

// NewMemoryRecords returns an empty store.
func NewMemoryRecords() *MemoryRecords { return &MemoryRecords{} }

// memoryRecord is a failure or a replacement.
type memoryRecord[R any] interface {
	id() string
	equipment() (id, component string)
	at() time.Time
	// repeats reports whether r is a record of an alarm that other is of too.
	repeats(other R) bool
}

func (f Failure) id() string                        { return f.ID }
func (f Failure) equipment() (id, component string) { return f.EquipmentID, f.Component }
func (f Failure) at() time.Time                     { return f.Start }
func (f Failure) repeats(other Failure) bool {
	return f.Source == SourceAlarm && other.Source == SourceAlarm && f.EquipmentID == other.EquipmentID && f.Component == other.Component &&
		f.Code == other.Code && f.Start.Equal(other.Start)
}

func (r Replacement) id() string                        { return r.ID }
func (r Replacement) equipment() (id, component string) { return r.EquipmentID, r.Component }
func (r Replacement) at() time.Time                     { return r.At }
func (r Replacement) repeats(other Replacement) bool {
	return r.Source == SourceAlarm && other.Source == SourceAlarm && r.EquipmentID == other.EquipmentID && r.Component == other.Component &&
		r.Reason == other.Reason && r.At.Equal(other.At)
}

// AddFailures implements [RecordStore].
func (m *MemoryRecords) AddFailures(ctx context.Context, failures []Failure) error {
	failures = slices.Clone(failures)
	for i := range failures {
		f := &failures[i]
		f.Start, f.Noticed, f.End = storedTime(f.Start), storedTime(f.Noticed), storedTime(f.End)
	}
	return addRecords(ctx, m, &m.failures, failures)
}

// AddReplacements implements [RecordStore].
func (m *MemoryRecords) AddReplacements(ctx context.Context, replacements []Replacement) error {
	replacements = slices.Clone(replacements)
	for i := range replacements {
		replacements[i].At = storedTime(replacements[i].At)
	}
	return addRecords(ctx, m, &m.replacements, replacements)
}

// Failures implements [RecordStore].
func (m *MemoryRecords) Failures(ctx context.Context, q RecordQuery) (Page[Failure], error) {
	return findRecords(ctx, m, &m.failures, q)
}

// Replacements implements [RecordStore].
func (m *MemoryRecords) Replacements(ctx context.Context, q RecordQuery) (Page[Replacement], error) {
	return findRecords(ctx, m, &m.replacements, q)
}

// DeleteFailure implements [RecordStore].
func (m *MemoryRecords) DeleteFailure(ctx context.Context, id string) error {
	return removeRecord(ctx, m, &m.failures, id)
}

// DeleteReplacement implements [RecordStore].
func (m *MemoryRecords) DeleteReplacement(ctx context.Context, id string) error {
	return removeRecord(ctx, m, &m.replacements, id)
}

// storedTime returns a time as stores keep it.
func storedTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func addRecords[R memoryRecord[R]](ctx context.Context, m *MemoryRecords, to *[]R, records []R) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(*to)
	ids := make(map[string]bool, len(all))
	for _, r := range all {
		ids[r.id()] = true
	}
	for _, r := range records {
		switch {
		case slices.ContainsFunc(all, r.repeats):
			continue
		case ids[r.id()]:
			return ErrRecordExists.On("id", r.id())
		}
		ids[r.id()] = true
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b R) int { return cmp.Or(a.at().Compare(b.at()), cmp.Compare(a.id(), b.id())) })
	*to = all
	return nil
}

func findRecords[R memoryRecord[R]](ctx context.Context, m *MemoryRecords, in *[]R, q RecordQuery) (p Page[R], err error) {
	if err := ctx.Err(); err != nil {
		return p, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range *in {
		equipment, component := r.equipment()
		if q.EquipmentID != "" && q.EquipmentID != equipment || q.Component != "" && q.Component != component ||
			!q.From.IsZero() && r.at().Before(q.From) || !q.To.IsZero() && !r.at().Before(q.To) {
			continue
		}
		p.Items = append(p.Items, r)
	}
	if q.Count {
		p.Total = len(p.Items)
	}
	p.Items = p.Items[min(q.Offset, len(p.Items)):]
	if q.Limit > 0 {
		p.Items = slices.Clip(p.Items[:min(q.Limit, len(p.Items))])
	}
	return p, nil
}

func removeRecord[R memoryRecord[R]](ctx context.Context, m *MemoryRecords, from *[]R, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(*from, func(r R) bool { return r.id() == id })
	if i < 0 {
		return ErrRecordNotFound.On("id", id)
	}
	*from = slices.Delete(slices.Clone(*from), i, i+1)
	return nil
}
