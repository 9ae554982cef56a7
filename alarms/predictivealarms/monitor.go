package predictivealarms

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/alarms/internal/raiser"
	"github.com/otkit/otkit/predictive/monitor"
)

// Prefixes of the keys of alarms; the equipment follows and, for a remaining life, a slash and the component. Keys that would be too
// long have a hash instead.
const (
	FailureKey = "predictive-failure:"
	RULKey     = "predictive-rul:"
	AnomalyKey = "predictive-anomaly:"
)

// Source returns the results that are newer than a position and the next position, or the results of all targets with all set: for
// position 0, and when a target was removed. It does not wait. A monitor.Latest is a Source.
type Source interface {
	Changes(after uint64) (list []monitor.Result, all bool, next uint64)
}

// Monitor raises alarms about results:
//
//   - predictive-failure:<equipment> while failures are predicted from tags of an equipment.
//   - predictive-rul:<equipment>/<component> while a component has a short remaining life.
//   - predictive-anomaly:<equipment> while tags of an equipment are anomalous.
//
// One alarm is about all tags of an equipment, because a cause is seen in several; its message and its label tags follow them. The
// alarm's Source and its label equipmentId are the equipment, its SourceType is Equipment.
//
// A target that is failing begins an alarm, one that is normal again ends it; see monitor.State. What cannot be predicted changes
// nothing. Only stored alarms survive a restart, and an active one is not raised twice: it ends when its targets are normal or no
// longer monitored. If the alarms cannot be stored, they are stored later, those that are over by then with their end.
//
// A Monitor has no goroutine of its own; see [Monitor.Run].
type Monitor struct {
	source Source
	target alarms.Target
	o      Options

	loaded     bool   // the alarms that were active at the start are known
	position   uint64 // of the source
	conditions map[subject]*condition
	seen       map[monitor.Target]bool
	absent     map[monitor.Target]time.Time // since when a target of an alarm has no result
	alarms     *raiser.Raiser
}

// New returns a monitor, which works while [Monitor.Run] does. source and target are required.
func New(source Source, target alarms.Target, o Options) (*Monitor, error) {
	switch {
	case source == nil:
		return nil, errors.New("predictivealarms: New: source is required")
	case target == nil:
		return nil, errors.New("predictivealarms: New: target is required")
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	return &Monitor{source: source, target: target, o: o, conditions: make(map[subject]*condition), seen: make(map[monitor.Target]bool),
		absent: make(map[monitor.Target]time.Time), alarms: raiser.New(target)}, nil
}

// Run takes over results every second until ctx ends. It must be called once. Alarms that cannot be stored are stored later. With
// Options.Disabled, Run returns when the active alarms are cleared.
func (m *Monitor) Run(ctx context.Context) {
	m.alarms.Run(ctx, m.o.Logger, "prediction", m.o.Disabled, m.step)
}

// step follows the results, also while the active alarms cannot be read.
func (m *Monitor) step(ctx context.Context) (err error) {
	now := m.o.Now()
	if !m.loaded {
		err = m.load(ctx, now)
	}
	if !m.o.Disabled {
		m.follow(now)
	}
	var gone []monitor.Target
	for t, since := range m.absent {
		switch age := now.Sub(since); {
		case m.o.Disabled, age >= max(m.o.AbsentAfter, 4*m.o.Period()):
			gone = append(gone, t)
		case age < 0: // the clock was set back
			m.absent[t] = now
		}
	}
	m.end(gone, now)
	return err
}

// load takes over the active alarms. Their targets are absent until the source has a result of them.
func (m *Monitor) load(ctx context.Context, now time.Time) error {
	var found []alarms.Occurrence
	for o, err := range m.target.EachActive(ctx) {
		if err != nil {
			return err
		}
		if m.o.Engine == "" || o.Labels["engine"] == m.o.Engine {
			found = append(found, o)
		}
	}
	for _, o := range found {
		list := targets(&o)
		if len(list) == 0 || subjectOf(list[0]).key() != o.Key {
			continue // one of another program
		}
		c := m.condition(list[0])
		m.alarms.SetRaised(o.Key)
		c.active, c.shown, c.days = true, nil, math.MaxInt
		for _, t := range list {
			c.shown = append(c.shown, t.Name)
			if _, known := c.failing[t.Name]; !known {
				c.failing[t.Name] = monitor.Result{Target: t}
				m.absent[t] = now
			}
		}
		slices.Sort(c.shown)
	}
	m.loaded, m.position = true, 0 // all results are looked at again
	return nil
}

func (m *Monitor) condition(t monitor.Target) *condition {
	s := subjectOf(t)
	c := m.conditions[s]
	if c == nil {
		c = &condition{failing: make(map[string]monitor.Result)}
		m.conditions[s] = c
	}
	return c
}

// follow takes over the results that have changed.
func (m *Monitor) follow(now time.Time) {
	list, all, next := m.source.Changes(m.position)
	m.position = next
	changed := make(map[subject]bool)
	present := make(map[monitor.Target]bool, len(list))
	for _, r := range list {
		present[r.Target] = true
		m.seen[r.Target] = true
		delete(m.absent, r.Target)
		switch r.State {
		case monitor.Failing:
			if r.Err == nil || m.condition(r.Target).failing[r.Name].At.IsZero() {
				m.condition(r.Target).failing[r.Name] = r
			}
			changed[subjectOf(r.Target)] = true
		case monitor.Normal:
			if c := m.conditions[subjectOf(r.Target)]; c != nil {
				delete(c.failing, r.Name)
				changed[subjectOf(r.Target)] = true
			}
		}
	}
	for s := range changed {
		m.show(s, "", now)
	}
	if !all {
		return
	}
	var gone []monitor.Target
	for t := range m.seen {
		if !present[t] {
			delete(m.seen, t)
			gone = append(gone, t)
		}
	}
	m.end(gone, now)
}

// end forgets targets that are no longer monitored.
func (m *Monitor) end(gone []monitor.Target, now time.Time) {
	why := "it is no longer monitored"
	if m.o.Disabled {
		why = "predictions raise no alarms any more"
	}
	changed := make(map[subject]bool)
	for _, t := range gone {
		delete(m.absent, t)
		if c := m.conditions[subjectOf(t)]; c != nil {
			delete(c.failing, t.Name)
			changed[subjectOf(t)] = true
		}
	}
	for s := range changed {
		m.show(s, why, now)
	}
}

// show brings the alarm of a subject up to date. why is empty if it ends because all is normal.
func (m *Monitor) show(s subject, why string, now time.Time) {
	c := m.conditions[s]
	switch {
	case len(c.failing) == 0 && c.active:
		m.alarms.Clear(s.key(), why, now)
		fallthrough
	case len(c.failing) == 0:
		delete(m.conditions, s)
		return
	case !c.active:
		m.alarms.Raise(m.alarm(s, c, now))
	case c.stale(s):
		m.alarms.Update(m.alarm(s, c, now))
	default:
		return
	}
	c.active, c.shown = true, c.names()
	if r := c.failing[s.component].RUL; r != nil {
		c.days = r.RULDays
	}
}

func (m *Monitor) alarm(s subject, c *condition, at time.Time) *alarms.Alarm {
	labels := c.labels(s)
	refresh := slices.Sorted(maps.Keys(labels))
	if m.o.Engine != "" {
		labels["engine"] = m.o.Engine
	}
	return &alarms.Alarm{Key: s.key(), ID: uuid.Must(uuid.NewV7()).String(), Source: source(s.equipment), SourceType: "Equipment",
		Message: c.message(s), Severity: m.o.Severities[s.kind], Labels: labels, At: m.alarms.At(at), Refresh: refresh}
}

// source returns an equipment as a valid source.
func source(equipment string) string {
	if limits.Violation(equipment, 1, maxKey) == "" {
		return equipment
	}
	clipped := []rune(limits.Clip(equipment + "?"))
	return string(clipped[:min(len(clipped), maxKey)])
}
