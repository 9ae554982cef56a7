package predictive

import (
	"context"
	"slices"

	"github.com/otkit/otkit/predictive/features"
)

// lives trains the models of remaining life: one for each component with enough lives, and the pooled one.
func (t *trainer) lives(ctx context.Context) error {
	components := t.components()
	type task struct {
		key  string
		only []string // components
	}
	tasks := []task{{pooledKey, components}}
	if len(components) > 1 {
		for _, c := range components {
			if c != pooledKey {
				tasks = append(tasks, task{c, []string{c}})
			}
		}
	}
	tasks = tasks[:min(len(tasks), t.s.o.MaxModels)]
	t.parts = len(tasks)
	for _, task := range tasks {
		p, missing := t.planRUL(task.only)
		stage := task.key
		if stage == pooledKey {
			stage = "all components"
		}
		if missing != "" {
			t.part++
			t.short = append(t.short, missing)
			continue
		}
		e, made, err := t.learn(ctx, task.key, stage, p)
		switch {
		case err != nil:
			return err
		case !made:
		case task.key != pooledKey:
			t.all.join(e)
		default:
			t.pooled = e
			if len(components) == 1 {
				t.bundle.predictors[len(t.bundle.predictors)-1].only = components[0]
			}
		}
	}
	return nil
}

// components returns the components with failures, the most frequent first; "" stands for failures that name none.
func (t *trainer) components() []string {
	counts := make(map[string]int)
	for _, m := range t.fleet.members {
		for _, f := range m.records.failures {
			counts[f.Component]++
		}
		for _, r := range m.records.replacements {
			if r.Reason == ReasonFailure {
				counts[r.Component]++
			}
		}
	}
	return byCount(counts)
}

const noRoles = "the tags of the equipments with failures have no roles in common"

// planRUL returns the plan for some components, or what is missing.
func (t *trainer) planRUL(components []string) (p plan, missing string) {
	var members []member
	var owners []int // of the sources, among the members
	for _, m := range t.fleet.members {
		has := false
		for _, component := range components {
			list := livesOf(m.id, component, m.records.only(component).events(), t.fleet.from, t.fleet.to)
			if failedLives(list) == 0 || len(m.tags) == 0 {
				continue
			}
			has = true
			p.sources, owners = append(p.sources, source{lives: list, downtime: m.downtime}), append(owners, len(members))
		}
		if has {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return p, noFailures
	}
	if p.signals = rolesOf(members); !slices.ContainsFunc(p.signals, func(s features.Signal) bool { return !s.Setting }) {
		return p, noRoles
	}
	for i, owner := range owners {
		p.sources[i].inputs = inputsOf(p.signals, members[owner].tags)
	}
	p.sources = append(p.sources, t.healthy(components, members, p.signals)...)
	return p, ""
}

// healthy returns equipments that have all of the signals and whose components never failed. They are known to last as long as they did.
func (t *trainer) healthy(components []string, failed []member, signals []features.Signal) (list []source) {
	for _, m := range t.fleet.members {
		inputs := inputsOf(signals, m.tags)
		if len(inputs) < len(signals) || slices.ContainsFunc(failed, func(f member) bool { return f.id == m.id }) {
			continue
		}
		parts := m.records.components()
		parts = slices.DeleteFunc(parts, func(c string) bool { return !slices.Contains(components, c) })
		if len(m.records.failures)+len(m.records.replacements) == 0 {
			parts = []string{""}
		}
		for _, part := range parts {
			lives := livesOf(m.id, part, m.records.only(part).events(), t.fleet.from, t.fleet.to)
			list = append(list, source{inputs: inputs, lives: lives, downtime: m.downtime})
		}
	}
	return list
}
