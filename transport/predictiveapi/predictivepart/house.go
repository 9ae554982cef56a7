package predictivepart

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/predictive/predictivetags"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// joinHouse adds the jobs that predict and train without being asked, and join predictions to tags and alarms. Either may be nil.
func (p *Predictive) joinHouse(t *tagspart.Tags, a *alarmspart.Alarms) error {
	switch {
	case !p.opts.WithoutMonitor:
		if err := p.watch(t, a); err != nil {
			return err
		}
	case a != nil: // alarms of an earlier run would stay forever
		if err := p.raise(a, new(monitor.Latest), 0); err != nil {
			return err
		}
	}
	o := p.opts.Retrain
	if o.Clock == nil {
		o.Clock = p.opts.Now
	}
	if o.Log == nil {
		o.Log = p.opts.Logger
	}
	retrainer, err := monitor.NewRetrainer(p.service, o)
	if err != nil {
		return err
	}
	p.jobs = append(p.jobs, retrainer.Run)
	if a != nil && !p.opts.WithoutFailures {
		return p.recordFailures(a)
	}
	return nil
}

// watch adds the jobs that predict on a timer and show the results.
func (p *Predictive) watch(t *tagspart.Tags, a *alarmspart.Alarms) (err error) {
	o := p.opts.Monitor
	if o.Clock == nil {
		o.Clock = p.opts.Now
	}
	if o.Log == nil {
		o.Log = p.opts.Logger
	}
	o.Within = cmp.Or(o.Within, p.opts.Service.Horizon)
	latest := new(monitor.Latest)
	if p.monitor, err = monitor.New(p.service, latest, o); err != nil {
		return err
	}
	p.jobs = append(p.jobs, p.monitor.Run)
	age := 4 * o.Interval // 0 is the default, of both
	if t != nil && !p.opts.WithoutTags {
		if err := p.showTags(t, latest, age); err != nil {
			return err
		}
	}
	if a == nil {
		return nil
	}
	return p.raise(a, latest, age)
}

// raise adds the job that raises alarms about results.
func (p *Predictive) raise(a *alarmspart.Alarms, results *monitor.Latest, absentAfter time.Duration) error {
	o := p.opts.Alarms
	if o.Now == nil {
		o.Now = p.opts.Now
	}
	if o.Logger == nil {
		o.Logger = p.opts.Logger
	}
	o.Disabled = o.Disabled || p.opts.WithoutMonitor
	o.AbsentAfter = cmp.Or(o.AbsentAfter, absentAfter)
	if o.Period == nil && p.monitor != nil {
		o.Period = p.monitor.Period
	}
	raiser, err := predictivealarms.New(results, a.Service(), o)
	if err == nil {
		p.jobs = append(p.jobs, raiser.Run)
	}
	return err
}

// refreshTags is how often tags are read that have not changed, and so how far their time stamps may be behind.
const refreshTags = 10 * time.Second

// showTags adds the job that shows results as tags. The driver comes with the first result.
func (p *Predictive) showTags(t *tagspart.Tags, latest *monitor.Latest, staleAfter time.Duration) error {
	driver, err := predictivetags.New(latest, predictivetags.Options{Now: p.opts.Now, StaleAfter: staleAfter, Period: p.monitor.Period})
	if err != nil {
		return err
	}
	added, failed := false, ""
	define := func(list []tags.Tag) (err error) {
		switch {
		case added:
			err = t.SetTags(predictivetags.DriverID, list)
		case len(list) > 0:
			err = t.AddDriver(tagspart.Driver{ID: predictivetags.DriverID, Driver: driver,
				Options: tags.DriverOptions{Type: "Predictive", RefreshInterval: refreshTags, Tags: list}})
			added = err == nil
		}
		switch {
		case err == nil:
			failed = ""
		case err.Error() != failed: // such as a driver of the same id that the settings name
			failed = err.Error()
			p.opts.Logger.Error("failed to show predictions as tags; retrying", "error", err)
		}
		return err
	}
	p.jobs = append(p.jobs, func(ctx context.Context) { _ = driver.Follow(ctx, define) })
	return nil
}

const defaultStartDelay = 30 * time.Second

// enginePositions is a store of records that several engines use.
type enginePositions interface {
	PositionsOf(engine string) alarmfailures.Positions
}

// recordFailures adds the job that records failures from alarms.
func (p *Predictive) recordFailures(a *alarmspart.Alarms) error {
	o := p.opts.Failures
	if o.Now == nil {
		o.Now = p.opts.Now
	}
	if o.Logger == nil {
		o.Logger = p.opts.Logger
	}
	o.StartDelay = cmp.Or(o.StartDelay, defaultStartDelay)
	positions, _ := p.opts.Records.(alarmfailures.Positions)
	if all, ok := p.opts.Records.(enginePositions); ok && p.opts.Engine != "" {
		positions = all.PositionsOf(p.opts.Engine)
	}
	recorder, err := alarmfailures.New(alarmfailures.Deps{Journal: a.Service(), Records: p.opts.Records, Equipment: p.equipmentOf, Positions: positions}, o)
	if err != nil {
		return err
	}
	p.jobs = append(p.jobs, recorder.Run)
	return nil
}

// tagOwner is an Inventory that need not look through all tags: alarms come in floods.
type tagOwner interface {
	// equipmentOf returns the equipment of a tag, empty if it has none.
	equipmentOf(tag string) string
}

// equipmentOf returns the equipment of the source of an alarm: a tag of it, or itself.
func (p *Predictive) equipmentOf(ctx context.Context, source string) (string, error) {
	equipments, err := p.opts.Inventory.Equipments(ctx)
	if err != nil || slices.Contains(equipments, source) {
		return source, err
	}
	if owner, ok := p.opts.Inventory.(tagOwner); ok {
		return owner.equipmentOf(source), nil
	}
	for _, equipment := range equipments {
		list, err := p.opts.Inventory.Tags(ctx, equipment)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(list, func(t predictive.Tag) bool { return t.ID == source }) {
			return equipment, nil
		}
	}
	return "", nil
}
