package alarms

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"time"
)

// Occurrence implements [Store].
func (m *Memory) Occurrence(ctx context.Context, id string) (Occurrence, error) {
	if err := ctx.Err(); err != nil {
		return Occurrence{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	slot := m.occurrences[id]
	if slot == nil {
		return Occurrence{}, ErrAlarmNotFound
	}
	return *slot.o, nil
}

// Occurrences implements [Store].
func (m *Memory) Occurrences(ctx context.Context, q Query) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	page := Page{Occurrences: []Occurrence{}}
	skip, left := q.Offset, m.active
	for _, slot := range slices.Backward(m.list) {
		o := slot.o
		full := len(page.Occurrences) >= q.Limit
		if full && !q.Count || q.Active && left == 0 {
			break
		}
		if o.Active {
			left--
		}
		if !q.selects(o) {
			continue
		}
		page.Total++
		switch {
		case full || q.Before.Seq > 0 && o.Mark().Compare(q.Before) >= 0:
		case skip > 0:
			skip--
		default:
			page.Occurrences = append(page.Occurrences, *o)
		}
	}
	if !q.Count {
		page.Total = 0
	}
	return page, nil
}

// selects says whether an occurrence is one of those that the query is about.
func (q *Query) selects(o *Occurrence) bool {
	return (!q.Active || o.Active) && (!q.Unacknowledged || !o.Acknowledged()) &&
		(q.Withheld == ShowAll || (q.Withheld == ShowWithheld) == (o.Withheld != 0)) &&
		q.Severities.Has(o.Severity) && (q.Code == 0 || q.Code == o.Code) && within(o.RaisedAt, q.Start, q.End)
}

// within says whether start <= t < end, where a zero bound is none.
func within(t, start, end time.Time) bool {
	return (start.IsZero() || !t.Before(start)) && (end.IsZero() || t.Before(end))
}

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

// WithheldConditions implements [Store].
func (m *Memory) WithheldConditions(ctx context.Context) ([]Condition, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := []Condition{}
	for code, c := range m.conditions {
		if c.Withheld != 0 {
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

// EventsOf implements [Store].
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

// Hours implements [Store].
func (m *Memory) Hours(ctx context.Context, start, end time.Time) ([]Hour, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	at := make(map[int64]*Hour)
	hours := []Hour{}
	for _, slot := range m.list {
		if slot.o.RaisedAt.Before(start) || !slot.o.RaisedAt.Before(end) {
			continue
		}
		hour := slot.o.RaisedAt.UTC().Truncate(time.Hour)
		h := at[hour.Unix()]
		if h == nil {
			h = &Hour{Start: hour}
			at[hour.Unix()] = h
		}
		h.Counts[slot.o.Severity]++
	}
	for _, h := range at {
		hours = append(hours, *h)
	}
	slices.SortFunc(hours, func(a, b Hour) int { return a.Start.Compare(b.Start) })
	return hours, nil
}

// Lives implements [Store].
func (m *Memory) Lives(ctx context.Context, start, end time.Time) iter.Seq2[Life, error] {
	return func(yield func(Life, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Life{}, err)
			return
		}
		m.mu.RLock()
		var lives []Life
		for _, slot := range m.list {
			if o := slot.o; !o.RaisedAt.Before(start) && o.RaisedAt.Before(end) {
				lives = append(lives, Life{Seq: o.Seq, Code: o.Code, RaisedAt: o.RaisedAt, ClearedAt: o.ClearedAt})
			}
		}
		m.mu.RUnlock()
		slices.SortFunc(lives, func(a, b Life) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, l := range lives {
			if !yield(l, nil) {
				return
			}
		}
	}
}
