package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/internal/ranked"
)

const memoryRecords = 100_000

// Memory is a [Complete] store in memory. It keeps the newest 100,000 records. Safe for concurrent use.
type Memory struct {
	mu      sync.RWMutex
	records recordTable
	work    chan struct{} // holds a token while WithLock runs
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{records: newRecordTable(), work: make(chan struct{}, 1)}
}

// recordTable holds records; every record is in all of its members but open.
type recordTable struct {
	byID  map[string]*alerting.Record
	byKey map[alerting.RecordKey]*alerting.Record
	open  map[string]map[alerting.RecordKey]*alerting.Record // not complete, by alarm
	list  *ranked.List[*alerting.Record]                     // ascending by Key.At and ID
	ends  map[string]End                                     // by alarm
}

func newRecordTable() recordTable {
	return recordTable{
		byID: make(map[string]*alerting.Record), byKey: make(map[alerting.RecordKey]*alerting.Record), open: make(map[string]map[alerting.RecordKey]*alerting.Record),
		ends: make(map[string]End),
		list: ranked.New(compareRecords, class),
	}
}

func compareRecords(a, b *alerting.Record) int {
	return cmp.Or(a.Key.At.Compare(b.Key.At), cmp.Compare(a.ID, b.ID))
}

// class says all of a record by which a page is found without going through the records before it.
func class(r *alerting.Record) uint8 {
	class := uint8(r.Severity) & 3
	if r.CompletedAt.IsZero() {
		class |= 4
	}
	return class
}

func (t *recordTable) add(r alerting.Record) {
	r.Key = r.Key.Canonical()
	if _, known := t.byKey[r.Key]; known {
		return
	}
	r.Labels, r.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
	p := &r
	t.byID[r.ID], t.byKey[r.Key] = p, p
	if r.CompletedAt.IsZero() {
		if t.open[r.Key.Alarm] == nil {
			t.open[r.Key.Alarm] = make(map[alerting.RecordKey]*alerting.Record)
		}
		t.open[r.Key.Alarm][r.Key] = p
	}
	t.list.Insert(p)
	if t.list.Len() > memoryRecords {
		oldest := t.list.First()
		t.list.Delete(oldest)
		delete(t.byID, oldest.ID)
		delete(t.byKey, oldest.Key)
		t.close(oldest.Key)
	}
}

func (t *recordTable) close(k alerting.RecordKey) {
	delete(t.open[k.Alarm], k)
	if len(t.open[k.Alarm]) == 0 {
		delete(t.open, k.Alarm)
	}
}

// ApplyRecords implements [Store].
func (m *Memory) ApplyRecords(ctx context.Context, changes Changes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range changes.Add {
		m.records.add(r)
	}
	for _, u := range changes.Update {
		if r := m.records.byKey[u.Key.Canonical()]; r != nil {
			r.Title, r.Description, r.Annotations, r.Truncated, r.Digest = u.Title, u.Description, maps.Clone(u.Annotations), u.Truncated, u.Digest
		}
	}
	for _, c := range changes.Complete {
		k := c.Key.Canonical()
		if r := m.records.open[k.Alarm][k]; r != nil {
			m.records.list.Delete(r)
			r.CompletedAt = c.At
			m.records.list.Insert(r)
			m.records.close(k)
		}
	}
	for _, e := range changes.Ends {
		e.At, e.ToldAt, e.By = canon.Time(e.At), canon.Time(e.ToldAt), slices.Clone(e.By)
		m.records.ends[e.Alarm] = e
	}
	return nil
}

// WithLock implements [Store].
func (m *Memory) WithLock(ctx context.Context, work func(context.Context) error) error {
	select {
	case m.work <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.work }()
	return work(ctx)
}

// TrimRecords implements [Store].
func (m *Memory) TrimRecords(ctx context.Context, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records.list.DeleteFunc(func(r *alerting.Record) bool {
		if r.CompletedAt.IsZero() || !r.CompletedAt.Before(before) {
			return false
		}
		delete(m.records.byID, r.ID)
		delete(m.records.byKey, r.Key)
		return true
	})
	maps.DeleteFunc(m.records.ends, func(_ string, e End) bool { return e.ToldAt.Before(before) })
	return nil
}

// RelatedRecords implements [Store].
func (m *Memory) RelatedRecords(ctx context.Context, keys []alerting.RecordKey) (Related, error) {
	if err := ctx.Err(); err != nil {
		return Related{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found, ends := make(map[alerting.RecordKey]alerting.Record), make(map[string]End)
	for _, k := range keys {
		k = k.Canonical()
		if r := m.records.byKey[k]; r != nil {
			found[k] = *r
		}
		for k, r := range m.records.open[k.Alarm] {
			found[k] = *r
		}
		if e, ok := m.records.ends[k.Alarm]; ok {
			ends[k.Alarm] = e
		}
	}
	return Related{slices.Collect(maps.Values(found)), slices.Collect(maps.Values(ends))}, nil
}

// CountOpen implements [Store].
func (m *Memory) CountOpen(ctx context.Context, prefix string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := 0
	for alarm, records := range m.records.open {
		if strings.HasPrefix(alarm, prefix) {
			n += len(records)
		}
	}
	return int64(n), nil
}

// Record implements [Store].
func (m *Memory) Record(ctx context.Context, id string) (alerting.Record, error) {
	if err := ctx.Err(); err != nil {
		return alerting.Record{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := m.records.byID[id]
	if r == nil {
		return alerting.Record{}, ErrNotFound.On("id", id)
	}
	c := *r
	c.Labels, c.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
	return c, nil
}

// Records implements [Store].
func (m *Memory) Records(ctx context.Context, f Filter, offset, limit int) ([]alerting.Record, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	set := ranked.SetOf(f.hasClass)
	above, total := 0, m.records.list.Count(set)
	if !f.To.IsZero() {
		end := m.records.list.Below(set, func(r *alerting.Record) bool { return r.Key.At.Before(f.To) })
		above, total = total-end, end
	}
	if !f.From.IsZero() {
		total -= m.records.list.Below(set, func(r *alerting.Record) bool { return r.Key.At.Before(f.From) })
	}
	total = max(total, 0)
	searched := f.Source != "" || f.Text != "" || len(f.Labels) > 0
	skip, left := offset, total
	if !searched {
		above, skip, left = above+offset, 0, min(limit, total-offset)
	}
	var (
		page         []alerting.Record
		found        int64
		source, text = FoldSource(f.Source), alarms.FoldCase(f.Text)
	)
	for r := range m.records.list.Backward(set, above) {
		if left--; left < 0 {
			break
		}
		if !f.selects(r, source, text) {
			continue
		}
		if found++; found > int64(skip) && len(page) < limit {
			c := r.Brief()
			c.Labels = maps.Clone(c.Labels)
			page = append(page, c)
		}
	}
	if !searched {
		found = int64(total)
	}
	return page, found, nil
}

// within reports whether from <= t < to, where the zero time does not limit.
func within(t, from, to time.Time) bool {
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || t.Before(to))
}

// CountBySeverity implements [Store].
func (m *Memory) CountBySeverity(ctx context.Context, from, to time.Time) ([]SeverityCount, error) {
	counts, err := countRecords(ctx, m, from, to, func(r *alerting.Record) alarms.Severity { return r.Severity })
	list := make([]SeverityCount, 0, len(counts))
	for s, n := range counts {
		list = append(list, SeverityCount{s, n})
	}
	return list, err
}

// CountBySource implements [Store].
func (m *Memory) CountBySource(ctx context.Context, from, to time.Time) ([]SourceCount, error) {
	counts, err := countRecords(ctx, m, from, to, func(r *alerting.Record) string { return r.Source })
	list := make([]SourceCount, 0, len(counts))
	for s, n := range counts {
		list = append(list, SourceCount{s, n})
	}
	slices.SortFunc(list, compareSources)
	return list[:min(len(list), MaxSources)], err
}

func countRecords[K comparable](ctx context.Context, m *Memory, from, to time.Time, by func(*alerting.Record) K) (map[K]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	counts := make(map[K]int64)
	for r := range m.records.list.All() {
		if within(r.Key.At, from, to) {
			counts[by(r)]++
		}
	}
	return counts, nil
}
