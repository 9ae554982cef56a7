package alarms

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/otkit/otkit/internal/ranked"
)

// OccurrencesByID implements [Store].
func (m *Memory) OccurrencesByID(ctx context.Context, ids []string) ([]Occurrence, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := make(map[string]Occurrence, len(ids))
	for _, id := range ids {
		if slot := m.occurrences[id]; slot != nil {
			found[id] = *slot.o
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// Occurrences implements [Store].
func (m *Memory) Occurrences(ctx context.Context, q Query) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if reason := q.State.Reason(); reason != 0 {
		return m.suppressed(&q, reason), nil
	}
	set := classes(&q)
	above, total := 0, m.list.Count(set)
	if !q.End.IsZero() {
		end := m.list.Below(set, func(s *memorySlot) bool { return s.o.RaisedAt.Before(q.End) })
		above, total = total-end, end
	}
	if !q.Start.IsZero() {
		total -= m.list.Below(set, func(s *memorySlot) bool { return s.o.RaisedAt.Before(q.Start) })
	}
	total = max(total, 0)
	if q.Counted() && q.Before.Seq == 0 {
		above += q.Offset
		q.Limit, q.Offset = max(min(q.Limit, total-q.Offset), 0), 0
		page := q.take(m.list.Backward(set, above), false)
		if q.Count {
			page.Total = total
		}
		return page, nil
	}
	return q.take(m.list.Backward(set, above), q.Count), nil
}

// suppressed selects among the newest occurrences of conditions that are suppressed for a reason.
func (m *Memory) suppressed(q *Query, reason Suppression) Page {
	var list []*memorySlot
	for code, c := range m.conditions {
		if slot := m.newest[code]; c.Suppression&reason != 0 && slot != nil && q.SelectsClass(slot.o.Class()) {
			list = append(list, slot)
		}
	}
	slices.SortFunc(list, func(a, b *memorySlot) int { return b.o.Position().Compare(a.o.Position()) })
	return q.take(slices.Values(list), q.Count)
}

// take returns a page of slots of the right classes, which must be descending. With count it reads all of them.
func (q *Query) take(slots iter.Seq[*memorySlot], count bool) Page {
	page, skip := Page{Occurrences: []Occurrence{}}, q.Offset
	for slot := range slots {
		o := slot.o
		full := len(page.Occurrences) >= q.Limit
		if full && !count || !q.Start.IsZero() && o.RaisedAt.Before(q.Start) {
			break
		}
		if !q.End.IsZero() && !o.RaisedAt.Before(q.End) || q.Code != 0 && q.Code != o.Code || !q.matches(o) {
			continue
		}
		if count {
			page.Total++
		}
		switch {
		case full || q.Before.Seq > 0 && o.Position().Compare(q.Before) >= 0:
		case skip > 0:
			skip--
		default:
			page.Occurrences = append(page.Occurrences, *o)
		}
	}
	return page
}

// classes returns the classes that a query selects.
func classes(q *Query) ranked.Set { return ranked.SetOf(q.SelectsClass) }

// Condition implements [Store].
func (m *Memory) Condition(ctx context.Context, ref Ref) (Condition, error) {
	if err := ctx.Err(); err != nil {
		return Condition{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	code := ref.Code
	if ref.Key != "" {
		code = m.codes[ref.Key]
	}
	if c := m.load(code); c != nil {
		return *c, nil
	}
	return Condition{}, ErrAlarmNotFound
}

// Codes implements [CodeLister].
func (m *Memory) Codes(ctx context.Context, keys []string) (map[string]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	codes := make(map[string]int64, len(keys))
	for _, key := range keys {
		if code, ok := m.codes[key]; ok {
			codes[key] = code
		}
	}
	return codes, nil
}

// SuppressedConditions implements [Store].
func (m *Memory) SuppressedConditions(ctx context.Context) ([]Condition, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := []Condition{}
	for code, c := range m.conditions {
		if c.Suppression != 0 {
			list = append(list, *m.load(code))
		}
	}
	slices.SortFunc(list, func(a, b Condition) int { return cmp.Compare(a.Code, b.Code) })
	return list, nil
}

// Events implements [Store].
func (m *Memory) Events(ctx context.Context, after int64, limit int) ([]Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	from := sort.Search(len(m.events), func(i int) bool { return m.events[i].Seq > after })
	return slices.Clone(m.events[from:min(len(m.events), from+max(limit, 0))]), nil
}

// EventsOf implements [EventLister].
func (m *Memory) EventsOf(ctx context.Context, occurrence int64, offset, limit int) ([]Event, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list, total := []Event{}, 0
	from := sort.Search(len(m.events), func(i int) bool { return m.events[i].Seq >= occurrence })
	for i := from; i < len(m.events); i++ {
		if m.events[i].Occurrence.Seq != occurrence {
			continue
		}
		if total++; total > offset && len(list) < limit {
			list = append(list, m.events[i])
		}
	}
	return list, total, nil
}

// HourlyCounts implements [Statistics].
func (m *Memory) HourlyCounts(ctx context.Context, start, end time.Time) ([]HourlyCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	at := make(map[int64]*HourlyCount)
	hours := []HourlyCount{}
	for slot := range m.list.All() {
		if slot.o.RaisedAt.Before(start) || !slot.o.RaisedAt.Before(end) {
			continue
		}
		hour := slot.o.RaisedAt.UTC().Truncate(time.Hour)
		h := at[hour.Unix()]
		if h == nil {
			h = &HourlyCount{Start: hour}
			at[hour.Unix()] = h
		}
		h.Counts[slot.o.Severity]++
	}
	for _, h := range at {
		hours = append(hours, *h)
	}
	slices.SortFunc(hours, func(a, b HourlyCount) int { return a.Start.Compare(b.Start) })
	return hours, nil
}

// ActiveIntervals implements [Statistics].
func (m *Memory) ActiveIntervals(ctx context.Context, start, end time.Time) iter.Seq2[ActiveInterval, error] {
	return func(yield func(ActiveInterval, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(ActiveInterval{}, err)
			return
		}
		m.mu.RLock()
		var lives []ActiveInterval
		for slot := range m.list.All() {
			if o := slot.o; !o.RaisedAt.Before(start) && o.RaisedAt.Before(end) {
				lives = append(lives, ActiveInterval{Seq: o.Seq, Code: o.Code, RaisedAt: o.RaisedAt, ClearedAt: o.ClearedAt})
			}
		}
		m.mu.RUnlock()
		slices.SortFunc(lives, func(a, b ActiveInterval) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, l := range lives {
			if !yield(l, nil) {
				return
			}
		}
	}
}
