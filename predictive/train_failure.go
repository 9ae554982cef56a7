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
	members, roles, o := t.failing()
	if len(roles) == 0 {
		return nil
	}
	t.parts = len(roles) + 1
	for _, role := range roles {
		e, made, err := t.learn(ctx, role, role, t.planRole(members, role, o), 0)
		if err != nil {
			return err
		}
		if made {
			t.all.join(e)
		}
	}
	p, err := t.planPooled(ctx, members, roles, o)
	if err != nil {
		return err
	}
	t.pooled, _, err = t.learn(ctx, pooledKey, "all tags", p, 0)
	return err
}

// failing returns the equipments, the roles of those that failed, and how their features are computed.
func (t *trainer) failing() (members []member, roles []string, o features.Options) {
	counts := make(map[string]int) // failures of equipments with a role
	var lives []life
	for _, m := range t.fleet.members {
		list := t.livesOf(m, "")
		n := failedLives(list)
		members, lives = append(members, m), append(lives, list...)
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
	return members, roles[:min(len(roles), t.s.o.MaxModels-1)], t.options(lives)
}

// livesOf returns the lives of an equipment: any failure or replacement ends one.
func (t *trainer) livesOf(m member, part string) []life {
	return livesOf(m.id, part, m.records.events(), t.fleet.from, t.fleet.to)
}

// planRole plans the model of a role, from all equipments that have it and their common settings.
func (t *trainer) planRole(members []member, role string, o features.Options) plan {
	p := plan{options: o, limit: t.bundle.horizon}
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
func (t *trainer) planPooled(ctx context.Context, members []member, roles []string, o features.Options) (plan, error) {
	x, err := newPlainExtractor(ctx, []features.Signal{{Name: pooledSignal}}, o)
	if err != nil {
		return plan{}, err
	}
	p := plan{options: o, limit: t.bundle.horizon, extractor: x, shape: true}
	for _, m := range members {
		for _, tag := range m.tags {
			if !tag.Setting && slices.Contains(roles, tag.Role) {
				p.sources = append(p.sources, source{inputs: []input{{0, tag.ID, false}}, lives: t.livesOf(m, tag.ID), downtime: m.downtime})
			}
		}
	}
	return p, nil
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
