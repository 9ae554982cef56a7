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
		p, limit, missing := t.planRUL(task.only)
		stage := task.key
		if stage == pooledKey {
			stage = "all components"
		}
		if missing != "" {
			t.part++
			t.short = append(t.short, missing)
			continue
		}
		e, made, err := t.learn(ctx, task.key, stage, p, limit)
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

// planRUL returns the plan for some components and the longest life to predict, or what is missing.
func (t *trainer) planRUL(components []string) (p plan, limit float64, missing string) {
	var members []member
	var owners []int // of the sources, among the members
	var lives []life
	for _, m := range t.fleet.members {
		has := false
		for _, component := range components {
			list := livesOf(m.id, component, m.records.only(component).events(), t.fleet.from, t.fleet.to)
			if failedLives(list) == 0 || len(m.tags) == 0 {
				continue
			}
			has = true
			lives = append(lives, list...)
			p.sources, owners = append(p.sources, source{lives: list, downtime: m.downtime}), append(owners, len(members))
		}
		if has {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return p, 0, noFailures
	}
	p.signals, p.options = rolesOf(members), t.options(lives)
	if !slices.ContainsFunc(p.signals, func(s features.Signal) bool { return !s.Setting }) {
		return p, 0, noRoles
	}
	for i, owner := range owners {
		p.sources[i].inputs = inputsOf(p.signals, members[owner].tags)
	}
	p.limit = 0.6 * medianLife(lives).Hours()
	if t.s.o.MaxLife > 0 {
		p.limit = t.s.o.MaxLife.Hours()
	}
	return p, p.limit, ""
}
