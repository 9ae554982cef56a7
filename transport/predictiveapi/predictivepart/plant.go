package predictivepart

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/predictive/predictivetags"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// lastOf returns what finds the last sample of a tag, as this engine shows it: it may be of the engine that ran the driver before.
func lastOf(t *tagspart.Tags) func(tag string) (tags.Sample, bool) {
	return func(tag string) (tags.Sample, bool) {
		s, ok := t.Current(tag)
		if !ok || s.Sample.Value.IsZero() || s.Tag.Offset != 0 || s.Tag.Scale != 0 && s.Tag.Scale != 1 { // a driver has raw values
			return tags.Sample{}, false
		}
		return s.Sample, true
	}
}

// showTagsOfAll adds the driver, and the job that defines its tags: every engine does, and one runs the driver.
func (p *Predictive) showTagsOfAll(t *tagspart.Tags, d tagspart.Driver) error {
	targets, err := p.newMonitor() // it does not run: it knows what one would predict for
	if err != nil {
		return err
	}
	if err := t.AddDriver(d); err != nil { // such as a driver of the same id that the settings name
		p.opts.Logger.Error("failed to show predictions as tags", "error", err)
		p.jobs = append(p.jobs, p.opts.Cluster.Once("predictive-monitor", p.runMonitor))
		return nil
	}
	t.Accompany(p.besideDriver())
	p.jobs = append(p.jobs, func(ctx context.Context) {
		p.followTargets(ctx, targets, func(list []tags.Tag) error { return t.SetTags(predictivetags.DriverID, list) })
	})
	return nil
}

// besideDriver runs the monitor on the engine that runs the driver.
func (p *Predictive) besideDriver() tagspart.Companion {
	var stop func()
	return tagspart.Companion{
		Begin: func(ctx context.Context, driver string, _ *cluster.Held) error {
			if driver != predictivetags.DriverID {
				return nil
			}
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() { defer close(done); p.runMonitor(ctx) }()
			stop = func() { cancel(); <-done }
			return nil
		},
		End: func(_ context.Context, driver string, _ bool) {
			if driver == predictivetags.DriverID {
				stop()
			}
		},
	}
}

const (
	firstListing   = 10 * time.Second // until targets are listed again after the start; it doubles
	longestListing = 15 * time.Minute
	listingTimeout = 30 * time.Second
)

// followTargets defines the tags of the targets that there are models for, until ctx ends.
func (p *Predictive) followTargets(ctx context.Context, m *monitor.Monitor, define func([]tags.Tag) error) {
	var defined []monitor.Target
	failing := false
	for wait := firstListing; ; {
		list, err := p.modelled(ctx, m)
		if err == nil && !slices.Equal(list, defined) {
			if err = define(predictivetags.TagsOf(list)); err == nil {
				defined = list
			}
		}
		if err != nil && !failing && ctx.Err() == nil {
			p.opts.Logger.Error("failed to show predictions as tags; retrying", "error", err)
		}
		failing = err != nil
		timer := time.NewTimer(wait)
		if wait = min(2*wait, longestListing); failing {
			wait = firstListing
		}
		select {
		case <-timer.C:
		case <-p.shown.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// modelled returns the targets that there are models for.
func (p *Predictive) modelled(ctx context.Context, m *monitor.Monitor) ([]monitor.Target, error) {
	ctx, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	list, err := m.Targets(ctx)
	if err != nil {
		return nil, err
	}
	there := map[monitor.Kind]bool{monitor.Anomaly: true} // which need none
	for kind, t := range map[monitor.Kind]predictive.ModelType{monitor.Failure: predictive.FailureModel, monitor.RUL: predictive.RULModel} {
		models, err := p.service.Models(ctx, t)
		if err != nil {
			return nil, err
		}
		there[kind] = models.Serving > 0 || p.opts.Models[t] != nil
	}
	return slices.DeleteFunc(list, func(t monitor.Target) bool { return !there[t.Kind] }), nil
}
