package predictive

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/otkit/otkit/predictive/features"
)

// failures trains the models of failures: one for each role with enough failures, and the pooled one of all tags.
func (t *trainer) failures(ctx context.Context) error {
	members, roles := t.failing()
	if len(roles) == 0 {
		return nil
	}
	t.parts = len(roles) + 1
	for _, role := range roles {
		e, made, err := t.learn(ctx, role, role, t.planRole(members, role))
		if err != nil {
			return err
		}
		if made {
			t.all.join(e)
		}
	}
	e, _, err := t.learn(ctx, pooledKey, "all tags", t.planPooled(members, roles))
	t.pooled = e
	return err
}

// failing returns the equipments and the roles of those that failed.
func (t *trainer) failing() (members []member, roles []string) {
	counts := make(map[string]int) // failures of equipments with a role
	for _, m := range t.fleet.members {
		n := failedLives(t.livesOf(m, ""))
		members = append(members, m)
		if n == 0 { // it counts where others with its roles failed
			continue
		}
		seen := make(map[string]bool)
		for _, tag := range m.tags {
			if !tag.Setting && !seen[tag.Role] {
				seen[tag.Role] = true
				counts[tag.Role] += n
			}
		}
	}
	roles = byCount(counts)
	return members, roles[:min(len(roles), t.s.o.MaxModels-1)]
}

// livesOf returns the lives of an equipment: any failure or replacement ends one.
func (t *trainer) livesOf(m member, part string) []life {
	return livesOf(m.id, part, m.records.events(), t.fleet.from, t.fleet.to)
}

// planRole plans the model of a role, from all equipments that have it and their common settings.
func (t *trainer) planRole(members []member, role string) (p plan) {
	var having []member
	for _, m := range members {
		if slices.ContainsFunc(m.tags, func(tag Tag) bool { return tag.Role == role && !tag.Setting }) {
			having = append(having, m)
		}
	}
	for _, s := range rolesOf(having) {
		if s.Setting {
			p.signals = append(p.signals, s)
		}
	}
	p.signals = append(p.signals, features.Signal{Name: role})
	for _, m := range having {
		p.sources = append(p.sources, source{inputs: inputsOf(p.signals, m.tags), lives: t.livesOf(m, ""), downtime: m.downtime})
	}
	return p
}

// planPooled plans the model of all tags.
func (t *trainer) planPooled(members []member, roles []string) plan {
	p := plan{signals: []features.Signal{{Name: pooledSignal}}, shape: true}
	for _, m := range members {
		for _, tag := range m.tags {
			if !tag.Setting && slices.Contains(roles, tag.Role) {
				p.sources = append(p.sources, source{inputs: []input{{0, tag.ID, false}}, lives: t.livesOf(m, tag.ID), downtime: m.downtime})
			}
		}
	}
	return p
}

// byCount returns keys, the most frequent first.
func byCount(counts map[string]int) []string {
	list := make([]string, 0, len(counts))
	for key := range counts {
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	return list
}
