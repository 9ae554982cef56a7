package monitor

import (
	"context"
	"slices"
)

// list brings the targets up to date. If they cannot be listed, they stay.
func (m *Monitor) list(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	found, omitted, err := m.find(limited)
	if err != nil {
		if ctx.Err() == nil {
			m.o.Log.Warn("failed to list what to predict; keeping the targets", "error", err)
		}
		return
	}
	m.omitted.Store(int64(omitted))
	next := Target{}
	if len(m.ring) > 0 {
		next = m.ring[m.place]
	}
	fresh := slices.DeleteFunc(m.fresh, func(t Target) bool {
		_, kept := slices.BinarySearchFunc(found, t, Target.Compare)
		return !kept
	})
	windows := make(map[Target]*window, len(found))
	for _, t := range found {
		if w := m.windows[t]; w != nil {
			windows[t] = w
			delete(m.windows, t)
		} else {
			windows[t] = new(window)
			fresh = append(fresh, t)
		}
	}
	var gone []Target
	for t := range m.windows {
		gone = append(gone, t)
	}
	slices.SortFunc(gone, Target.Compare)
	m.ring, m.windows, m.fresh = found, windows, fresh
	m.place, _ = slices.BinarySearchFunc(found, next, Target.Compare)
	m.place %= max(len(found), 1)
	m.targets.Store(int64(len(found)))
	if len(gone) > 0 {
		m.sink.Remove(gone)
	}
}

// find returns the targets in order, and how many were found beyond the limit.
func (m *Monitor) find(ctx context.Context) (list []Target, omitted int, err error) {
	equipments, err := m.predictor.Equipments(ctx)
	if err != nil {
		return nil, 0, err
	}
	add := func(t Target) {
		if len(list) >= m.o.MaxTargets {
			omitted++
			return
		}
		list = append(list, t)
	}
	for _, equipment := range equipments {
		if !matches(m.o.Equipments, equipment, true) {
			continue
		}
		tags, err := m.predictor.Tags(ctx, equipment)
		if err != nil {
			return nil, 0, err
		}
		var components []string
		if len(list) < m.o.MaxTargets { // a thousand equipments more would be as many queries for nothing
			if components, err = m.predictor.RecordedComponents(ctx, equipment); err != nil {
				return nil, 0, err
			}
		}
		for _, component := range components {
			if matches(m.o.Components, component, true) {
				add(Target{RUL, equipment, component})
			}
		}
		for _, tag := range tags {
			if matches(m.o.Tags, tag, true) {
				add(Target{Failure, equipment, tag})
			}
			if matches(m.o.Anomalies, tag, false) {
				add(Target{Anomaly, equipment, tag})
			}
		}
	}
	slices.SortFunc(list, Target.Compare)
	return list, omitted, ctx.Err()
}
