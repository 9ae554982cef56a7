package alerting

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

const memoryRecords = 100_000

// recordTable holds records; every record is in all of its members but open.
type recordTable struct {
	byID  map[string]*Record
	byKey map[RecordKey]*Record
	open  map[string]map[RecordKey]*Record // not complete, by alarm
	list  []*Record                        // ascending by Key.At and ID
}

func newRecordTable() recordTable {
	return recordTable{
		byID: make(map[string]*Record), byKey: make(map[RecordKey]*Record), open: make(map[string]map[RecordKey]*Record),
	}
}

// tableKey makes equal times equal keys of a map.
func tableKey(k RecordKey) RecordKey { return RecordKey{k.Alarm, stamp(k.At)} }

func compareRecords(a, b *Record) int {
	return cmp.Or(a.Key.At.Compare(b.Key.At), cmp.Compare(a.ID, b.ID))
}

func (t *recordTable) add(r Record) {
	r.Key = tableKey(r.Key)
	if _, known := t.byKey[r.Key]; known {
		return
	}
	r.Labels, r.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
	p := &r
	t.byID[r.ID], t.byKey[r.Key] = p, p
	if r.CompletedAt.IsZero() {
		if t.open[r.Key.Alarm] == nil {
			t.open[r.Key.Alarm] = make(map[RecordKey]*Record)
		}
		t.open[r.Key.Alarm][r.Key] = p
	}
	at, _ := slices.BinarySearchFunc(t.list, p, compareRecords)
	t.list = slices.Insert(t.list, at, p)
	if len(t.list) > memoryRecords {
		oldest := t.list[0]
		t.list[0] = nil
		t.list = t.list[1:]
		delete(t.byID, oldest.ID)
		delete(t.byKey, oldest.Key)
		t.close(oldest.Key)
	}
}

func (t *recordTable) close(k RecordKey) {
	delete(t.open[k.Alarm], k)
	if len(t.open[k.Alarm]) == 0 {
		delete(t.open, k.Alarm)
	}
}

// ApplyRecords implements [HistoryStore].
func (m *Memory) ApplyRecords(ctx context.Context, add []Record, complete []Completion) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range add {
		m.records.add(r)
	}
	for _, c := range complete {
		k := tableKey(c.Key)
		if r := m.records.open[k.Alarm][k]; r != nil {
			r.CompletedAt = c.At
			m.records.close(k)
		}
	}
	return nil
}

// Exclusive implements [HistoryStore].
func (m *Memory) Exclusive(ctx context.Context, work func(context.Context) error) error {
	select {
	case m.work <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.work }()
	return work(ctx)
}

// TrimRecords implements [HistoryStore].
func (m *Memory) TrimRecords(ctx context.Context, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records.list = slices.DeleteFunc(m.records.list, func(r *Record) bool {
		if r.CompletedAt.IsZero() || !r.CompletedAt.Before(before) {
			return false
		}
		delete(m.records.byID, r.ID)
		delete(m.records.byKey, r.Key)
		return true
	})
	return nil
}

// RelatedRecords implements [HistoryStore].
func (m *Memory) RelatedRecords(ctx context.Context, keys []RecordKey) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := make(map[RecordKey]Record)
	for _, k := range keys {
		k = tableKey(k)
		if r := m.records.byKey[k]; r != nil {
			found[k] = *r
		}
		for k, r := range m.records.open[k.Alarm] {
			found[k] = *r
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// Record implements [HistoryStore].
func (m *Memory) Record(ctx context.Context, id string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := m.records.byID[id]
	if r == nil {
		return Record{}, ErrRecordNotFound.On("id", id)
	}
	c := *r
	c.Labels, c.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
	return c, nil
}

// Records implements [HistoryStore].
func (m *Memory) Records(ctx context.Context, f RecordFilter, offset, limit int) ([]Record, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var (
		page  []Record
		total int64
		part  = FoldSource(f.Source)
	)
	for _, r := range slices.Backward(m.records.list) {
		if !f.Severities.Has(r.Severity) || !within(r.Key.At, f.From, f.To) || !strings.Contains(FoldSource(r.Source), part) {
			continue
		}
		if total++; total > int64(offset) && len(page) < limit {
			c := *r
			c.Labels, c.Annotations = maps.Clone(r.Labels), nil
			page = append(page, c)
		}
	}
	return page, total, nil
}

// within says whether from <= t < to, where the zero time does not limit.
func within(t, from, to time.Time) bool {
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || t.Before(to))
}

// CountBySeverity implements [HistoryStore].
func (m *Memory) CountBySeverity(ctx context.Context, from, to time.Time) ([]SeverityCount, error) {
	counts, err := countRecords(ctx, m, from, to, func(r *Record) alarms.Severity { return r.Severity })
	list := make([]SeverityCount, 0, len(counts))
	for s, n := range counts {
		list = append(list, SeverityCount{s, n})
	}
	return list, err
}

// CountBySource implements [HistoryStore].
func (m *Memory) CountBySource(ctx context.Context, from, to time.Time) ([]SourceCount, error) {
	counts, err := countRecords(ctx, m, from, to, func(r *Record) string { return r.Source })
	list := make([]SourceCount, 0, len(counts))
	for s, n := range counts {
		list = append(list, SourceCount{s, n})
	}
	return list, err
}

func countRecords[K comparable](ctx context.Context, m *Memory, from, to time.Time, by func(*Record) K) (map[K]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	counts := make(map[K]int64)
	for _, r := range m.records.list {
		if within(r.Key.At, from, to) {
			counts[by(r)]++
		}
	}
	return counts, nil
}
