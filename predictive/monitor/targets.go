package monitor

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Targets returns what is predicted for, in order. It may be called from any goroutine, also of a monitor that does not run.
func (m *Monitor) Targets(ctx context.Context) ([]Target, error) {
	list, _, err := m.find(ctx)
	return list, err
}

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
	m.omitted.Store(omitted)
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
			w := &window{asked: m.elapsed}
			w.turn = m.turns.PushBack(w)
			windows[t] = w
			fresh = append(fresh, t)
		}
	}
	var gone []Target
	for t, w := range m.windows {
		m.turns.Remove(w.turn)
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

// find returns the targets in order, and those beyond the limit. Remaining lives come first, then tags; each equipment gets one after the other in
// turn, so that none has all and another one none.
func (m *Monitor) find(ctx context.Context) (list []Target, omitted *omission, err error) {
	equipments, err := m.predictor.Equipments(ctx)
	if err != nil {
		return nil, nil, err
	}
	var lives, tags [][]Target // by equipment
	for _, equipment := range equipments {
		if !matches(m.o.Equipments, equipment, true) {
			continue
		}
		ids, err := m.predictor.Tags(ctx, equipment)
		if err != nil {
			return nil, nil, err
		}
		var components []string
		if len(lives) < m.o.MaxTargets { // a hundred thousand equipments would be as many queries
			if components, err = m.predictor.RecordedComponents(ctx, equipment); err != nil {
				return nil, nil, err
			}
		}
		lives = append(lives, m.livesOf(equipment, components))
		tags = append(tags, m.tagsOf(equipment, ids))
	}
	omitted = &omission{kinds: make(map[Kind]int), of: make(map[string]bool)}
	for _, groups := range [][][]Target{lives, tags} {
		for t := range inTurn(groups) {
			if len(list) < m.o.MaxTargets {
				list = append(list, t)
			} else {
				omitted.add(t)
			}
		}
	}
	slices.SortFunc(list, Target.Compare)
	return list, omitted, ctx.Err()
}

func (m *Monitor) livesOf(equipment string, components []string) (list []Target) {
	for _, component := range components {
		if matches(m.o.Components, component, true) {
			list = append(list, Target{RUL, equipment, component})
		}
	}
	return list
}

func (m *Monitor) tagsOf(equipment string, tags []string) (list []Target) {
	for _, tag := range tags {
		if matches(m.o.Tags, tag, true) {
			list = append(list, Target{Failure, equipment, tag})
		}
		if matches(m.o.Anomalies, tag, false) {
			list = append(list, Target{Anomaly, equipment, tag})
		}
	}
	return list
}

// inTurn returns the first of each group, then the second of each, and so on.
func inTurn(groups [][]Target) iter.Seq[Target] {
	return func(yield func(Target) bool) {
		left := slices.Clone(groups)
		for len(left) > 0 {
			left = slices.DeleteFunc(left, func(g []Target) bool { return len(g) == 0 })
			for i, g := range left {
				if !yield(g[0]) {
					return
				}
				left[i] = g[1:]
			}
		}
	}
}

// omission are the targets beyond the limit.
type omission struct {
	count int
	kinds map[Kind]int
	of    map[string]bool // equipments
}

func (o *omission) add(t Target) {
	o.count++
	o.kinds[t.Kind]++
	o.of[t.Equipment] = true
}

// maxNames is how many equipments a line of the log names.
const maxNames = 10

// names returns the equipments that have targets which are omitted.
func (o *omission) names() string {
	all := slices.Sorted(maps.Keys(o.of))
	text := strings.Join(all[:min(len(all), maxNames)], ", ")
	if more := len(all) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
