package predictivepart

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/health"
)

// check is Degraded while models are damaged: predictions then come from an older one, or from none. A training that failed is told and is no
// fault of the server. Anybody may read the result, so it has versions and figures only.
func (p *Predictive) check(ctx context.Context) health.Result {
	r := health.Result{Status: health.Healthy, Description: "no model is damaged", Data: map[string]any{}}
	jobs, err := p.service.Jobs(ctx)
	if err != nil {
		return health.Result{Status: health.Degraded, Description: "the trainings cannot be read"}
	}
	for _, t := range predictive.ModelTypes() {
		if state, ended := lastTraining(jobs, t); ended {
			r.Data["lastTrainingOf"+string(t)] = string(state)
		}
	}
	damaged, err := p.damage.list(ctx, p.opts.Now())
	switch {
	case err != nil:
		r.Status, r.Description = health.Degraded, "the models cannot be read"
	case len(damaged) > 0:
		r.Status, r.Description = health.Degraded, "damaged models: "+strings.Join(damaged, ", ")
	}
	return r
}

// lastTraining returns how the newest training of a type that has ended did.
func lastTraining(newestFirst []predictive.Job, t predictive.ModelType) (predictive.JobState, bool) {
	for _, j := range newestFirst {
		if j.ModelType == t && j.State != predictive.JobRunning {
			return j.State, true
		}
	}
	return "", false
}

const (
	damageAge = time.Minute      // how long what was found is not looked for again: every model is read
	repairAge = 10 * time.Second // the same while models are damaged: who removes them wants to see it
	maxNamed  = 5                // models that a description names
)

// damage knows the damaged models of a registry.
type damage struct {
	registry predictive.Registry

	mu    sync.Mutex
	at    time.Time
	known bool
	names []string
}

func (d *damage) list(ctx context.Context, now time.Time) ([]string, error) {
	inspector, ok := d.registry.(predictive.Inspector)
	if !ok {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	age := damageAge
	if len(d.names) > 0 {
		age = repairAge
	}
	if d.known && now.Sub(d.at).Abs() < age {
		return d.names, nil
	}
	var names []string
	more := 0
	for _, t := range predictive.ModelTypes() {
		list, err := inspector.Damaged(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, damaged := range list {
			if len(names) == maxNamed {
				more++
				continue
			}
			names = append(names, string(t)+"_"+predictive.FormatVersion(damaged.Version))
		}
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	d.at, d.known, d.names = now, true, names
	return names, nil
}
