package driveralarms

import (
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/tags"
)

// sharedWatch is what is known of a driver that several engines share.
type sharedWatch struct {
	known bool      // its status was seen
	own   bool      // this engine raises and clears the alarm
	began time.Time // since when it does
	owner string    // the engine that runs the driver, empty for none
	label string    // of the alarm that is active: the engine that ran the driver when it was raised or updated
}

const (
	// reread is how often the active alarms are read again. An engine that has lost a driver may have raised or cleared its alarm in the moment
	// before.
	reread = time.Minute
	// firstTry is how long an engine that has just taken a driver over raises nothing: what it knows of the driver may be a moment old.
	firstTry = 5 * time.Second
)

// divide finds out which alarms are this engine's. It has the active alarms read when there are more.
func (d *Monitor) divide(list []tags.DriverStatus, now time.Time) {
	if d.plant == nil {
		return
	}
	for i := range list {
		if !slices.Contains(d.exclude, list[i].Type) {
			d.watch(driverKey+list[i].ID, now)
		}
	}
	for key, w := range d.watches {
		id := strings.TrimPrefix(key, driverKey)
		owner, own := d.ownerOf(id)
		switch {
		case own && !w.own:
			w.began, d.loaded = now, false
		case !own && w.own:
			d.alarms.Forget(key)
		}
		if owner != w.owner { // its counters begin anew
			w.online, w.samples = time.Time{}, noSamples
		}
		w.own, w.owner = own, owner
	}
	if now.Sub(d.readAt).Abs() >= reread {
		d.loaded = false
	}
}

// noSamples stands for the number of samples that the next look finds.
const noSamples = ^uint64(0)

// ownerOf returns the engine that runs a driver, and reports whether its alarm is this engine's.
func (d *Monitor) ownerOf(id string) (owner string, own bool) {
	owner, ok := d.plant.Owner(id)
	switch {
	case d.disabled: // all engines clear all alarms
		return owner, true
	case !ok:
		return "", d.plant.Spare()
	}
	return owner, owner == d.engine
}

// acts reports whether this engine raises and clears the alarm of a driver.
func (d *Monitor) acts(w *driverWatch) bool { return d.plant == nil || w.own }

// heard reports whether the status of a driver tells anything: what another engine runs may not be heard of.
func (d *Monitor) heard(w *driverWatch, s *tags.DriverStatus, now time.Time) bool {
	if d.plant != nil && s.Engine == "" && w.owner != "" && w.owner != d.engine {
		if !w.known {
			w.since = now
		}
		return false
	}
	w.known = true
	return true
}

// share takes over the active alarms that are this engine's, and forgets those that are not active. active has the labels engine by key.
func (d *Monitor) share(active map[string]string, now time.Time) {
	for key, engine := range active {
		owner, own := d.ownerOf(strings.TrimPrefix(key, driverKey))
		if !own || d.alarms.Raised(key) || d.alarms.Pending(key) {
			continue
		}
		w := d.watch(key, now)
		if w.label = engine; !w.own {
			w.own, w.began, w.owner = true, now, owner
		}
		d.alarms.SetRaised(key)
	}
	for key := range d.watches {
		if _, there := active[key]; !there && d.alarms.Raised(key) && !d.alarms.Pending(key) {
			d.alarms.Forget(key)
		}
	}
}

// label returns the engine that an alarm names.
func (d *Monitor) label(id string) string {
	if d.plant == nil {
		return d.engine
	}
	owner, _ := d.ownerOf(id)
	return owner
}

// nobodyRuns reports whether no engine runs a driver, and why.
func (d *Monitor) nobodyRuns(id string) (nobody bool, why string) {
	if d.plant == nil {
		return false, ""
	}
	if _, ok := d.plant.Owner(id); ok {
		return false, ""
	}
	return true, d.plant.Why(id)
}

// update lets an alarm name the engine that runs the driver now, once that has tried for the delay: until then it may end.
func (d *Monitor) update(key string, w *driverWatch, s *tags.DriverStatus, now time.Time) {
	if w.label == w.owner || now.Sub(w.began) < d.delay {
		return
	}
	a := d.alarm(key, s, d.alarms.At(now))
	a.Refresh = []string{engineLabel}
	d.alarms.Update(a)
	w.label = w.owner
}
