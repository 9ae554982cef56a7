package predictivepart

import (
	"cmp"
	"context"
	"slices"
	"sync"
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
	if err := p.watch(t); err != nil {
		return err
	}
	retrain := p.retrainOptions()
	if _, err := monitor.NewRetrainer(p.service, retrain); err != nil {
		return err
	}
	p.jobs = append(p.jobs, p.opts.Cluster.Once("predictive-retrain", func(ctx context.Context) {
		if r, err := monitor.NewRetrainer(p.service, retrain); err == nil { // as above
			r.Run(ctx)
		}
	}))
	if a != nil && !p.opts.WithoutFailures {
		return p.recordFailures(a)
	}
	return nil
}

func (p *Predictive) retrainOptions() monitor.RetrainOptions {
	o := p.opts.Retrain
	if o.Clock == nil {
		o.Clock = p.opts.Now
	}
	if o.Log == nil {
		o.Log = p.opts.Logger
	}
	return o
}

// watch adds the jobs that predict on a timer and show the results.
func (p *Predictive) watch(t *tagspart.Tags) error {
	if p.opts.WithoutMonitor && p.alarms == nil {
		return nil
	}
	if !p.opts.WithoutMonitor {
		if _, err := p.newMonitor(); err != nil {
			return err
		}
	}
	if p.alarms != nil {
		if _, err := p.newRaiser(); err != nil {
			return err
		}
	}
	if t == nil || p.opts.WithoutTags || p.opts.WithoutMonitor {
		p.jobs = append(p.jobs, p.opts.Cluster.Once("predictive-monitor", p.runMonitor))
		return nil
	}
	if p.opts.Cluster == nil {
		p.jobs = append(p.jobs, p.runMonitor)
	}
	return p.showTags(t)
}

// runMonitor predicts on a timer and raises alarms about the results until ctx ends. Of several engines, that does which runs the driver predictive.
func (p *Predictive) runMonitor(ctx context.Context) {
	p.monitoring.Lock() // one has ended before the next begins
	defer p.monitoring.Unlock()
	p.latest.Reset()
	var running sync.WaitGroup
	if !p.opts.WithoutMonitor {
		m, err := p.newMonitor()
		if err != nil { // New has made one already
			p.opts.Logger.Error("failed to predict on a timer", "error", err)
			return
		}
		p.monitor.Store(m)
		defer p.monitor.Store(nil)
		running.Go(func() { m.Run(ctx) })
	}
	if p.alarms != nil {
		if raiser, err := p.newRaiser(); err != nil { // as above
			p.opts.Logger.Error("failed to raise alarms about predictions", "error", err)
		} else {
			running.Go(func() { raiser.Run(ctx) })
		}
	}
	running.Wait()
}

func (p *Predictive) newMonitor() (*monitor.Monitor, error) {
	o := p.opts.Monitor
	if o.Clock == nil {
		o.Clock = p.opts.Now
	}
	if o.Log == nil {
		o.Log = p.opts.Logger
	}
	o.Within = cmp.Or(o.Within, p.opts.Service.Horizon)
	return monitor.New(p.service, &p.latest, o)
}

// age is how old results may be.
func (p *Predictive) age() time.Duration {
	if p.opts.WithoutMonitor {
		return 0
	}
	return 4 * p.opts.Monitor.Interval // 0 is the default, of all
}

// period returns how far apart the results of a target are at present.
func (p *Predictive) period() time.Duration {
	if m := p.monitor.Load(); m != nil {
		return m.Period()
	}
	return 0
}

// newRaiser returns what raises alarms about results or, without a monitor, ends those of an earlier run, which would stay forever.
func (p *Predictive) newRaiser() (*predictivealarms.Monitor, error) {
	o := p.opts.Alarms
	if o.Now == nil {
		o.Now = p.opts.Now
	}
	if o.Logger == nil {
		o.Logger = p.opts.Logger
	}
	o.Disabled = o.Disabled || p.opts.WithoutMonitor
	o.AbsentAfter = cmp.Or(o.AbsentAfter, p.age())
	if o.Period == nil {
		o.Period = p.period
	}
	if p.opts.Cluster != nil {
		o.Engine = "" // whichever engine has raised them
	}
	return predictivealarms.New(&p.latest, p.alarms.Service(), o)
}

// refreshTags is how often tags are read that have not changed, and so how far their time stamps may be behind.
const refreshTags = 10 * time.Second

// showTags adds the job that shows results as tags.
func (p *Predictive) showTags(t *tagspart.Tags) error {
	o := predictivetags.Options{Now: p.opts.Now, StaleAfter: p.age(), Period: p.period}
	if p.opts.Cluster != nil {
		o.Last = lastOf(t)
	}
	driver, err := predictivetags.New(&p.latest, o)
	if err != nil {
		return err
	}
	d := tagspart.Driver{ID: predictivetags.DriverID, Driver: driver, Options: tags.DriverOptions{Type: "Predictive", RefreshInterval: refreshTags}}
	if p.opts.Cluster != nil {
		return p.showTagsOfAll(t, d)
	}
	added, failed := false, ""
	define := func(list []tags.Tag) (err error) { // the driver comes with the first result
		switch {
		case added:
			err = t.SetTags(predictivetags.DriverID, list)
		case len(list) > 0:
			d.Options.Tags = list
			err = t.AddDriver(d)
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
	if all, ok := p.opts.Records.(enginePositions); ok && p.opts.Engine != "" && p.opts.Cluster == nil {
		positions = all.PositionsOf(p.opts.Engine)
	}
	deps := alarmfailures.Deps{Journal: a.Service(), Records: p.opts.Records, Equipment: p.equipmentOf, Positions: positions}
	if _, err := alarmfailures.New(deps, o); err != nil {
		return err
	}
	p.jobs = append(p.jobs, p.opts.Cluster.Once("predictive-failures", func(ctx context.Context) {
		if r, err := alarmfailures.New(deps, o); err == nil { // as above; it goes on at the position that is stored
			r.Run(ctx)
		}
	}))
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
