package tagspart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/health"
)

func (t *Tags) checks() []health.Check {
	checks := []health.Check{
		{Name: "driver", Run: t.checkDrivers},
		{Name: "tag-configuration", Run: t.checkConfig},
	}
	if t.recorder != nil {
		checks = append(checks, health.Check{Name: "history", Run: t.checkHistory})
	}
	return checks
}

// checkDrivers is Degraded while a driver is not online: the engine itself works.
func (t *Tags) checkDrivers(context.Context) health.Result {
	r := health.Result{Status: health.Healthy, Data: map[string]any{}}
	offline := 0
	drivers := t.engine.Drivers()
	for _, d := range drivers {
		r.Data[d.ID] = d.State
		if d.State != tags.DriverOnline {
			offline++
			r.Status = health.Degraded
		}
	}
	r.Description = fmt.Sprintf("%d of %d drivers online", len(drivers)-offline, len(drivers))
	if problems := t.drivers.Problems(); len(problems) > 0 {
		r.Status = health.Degraded
		r.Data["notStarted"] = problems
		r.Description += fmt.Sprintf("; %d stored drivers were not started", len(problems))
	}
	return r
}

// maxRefused is how many refused tags the health check names.
const maxRefused = 20

// refused returns why tags cannot be what they are configured to be, by name.
func (t *Tags) refused() map[string]error {
	all := t.binder.Errors()
	for _, u := range t.engine.Unusable() {
		all[u.Name] = u.Err
	}
	return all
}

// whyRefused returns why the driver of an item cannot use it, if the driver runs.
func (t *Tags) whyRefused(c *tagconfig.Config) string {
	if err := t.binder.Check(c); err != nil {
		return reasonText(err)
	}
	return ""
}

// reasonText returns why a tag was refused, for people.
func reasonText(err error) string {
	f, ok := fault.From(err)
	switch {
	case !ok:
		return err.Error()
	case f.Err != nil:
		return f.Err.Error()
	case len(f.Fields) > 0:
		return f.Fields[0].Field + " " + f.Fields[0].Message
	}
	return f.Error()
}

func (t *Tags) checkConfig(context.Context) health.Result {
	refused := t.refused()
	switch err := t.config.Err(); {
	case errors.Is(err, tagconfig.ErrNotSaved), errors.Is(err, tagconfig.ErrFull):
		return health.Result{Status: health.Degraded, Description: "the model file cannot be written; the database has the configuration"}
	case err != nil:
		return health.Result{Status: health.Degraded, Description: "the model file cannot be read; the last good configuration is in force"}
	case len(refused) > 0:
		names := slices.Sorted(maps.Keys(refused))
		first := make(map[string]string)
		for _, name := range names[:min(len(names), maxRefused)] {
			first[name] = reasonText(refused[name])
		}
		return health.Result{Status: health.Degraded, Description: fmt.Sprintf("%d configured tags were refused", len(refused)),
			Data: map[string]any{"refused": first}}
	}
	r := health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d tags configured", t.config.Len())}
	if unknown := t.config.Unknown(); len(unknown) > 0 {
		r.Data = map[string]any{"unknownMembers": unknown}
	}
	return r
}

// dropShown is how long health is Degraded after samples of the history were lost.
const dropShown = 10 * time.Minute

func (t *Tags) checkHistory(context.Context) health.Result {
	stats := t.historyStats()
	r := health.Result{Status: health.Healthy, Description: "samples are stored",
		Data: map[string]any{"stored": stats.Stored, "waiting": stats.Pending, "dropped": stats.Dropped}}
	if stats.Dropped > 0 {
		r.Data["droppedBy"], r.Data["lastDrop"] = stats.DroppedBy, stats.LastDrop.UTC()
	}
	switch {
	case t.forwards.failing():
		r.Status, r.Description = health.Degraded, "samples cannot be stored; drivers that store and forward keep theirs"
	case stats.Err != nil:
		r.Status, r.Description = health.Degraded, "samples cannot be stored; the newest wait in memory"
	case stats.Dropped > 0 && t.opts.Now().Sub(stats.LastDrop) < dropShown:
		r.Status, r.Description = health.Degraded, "samples of the history were lost lately"
	}
	return r
}
