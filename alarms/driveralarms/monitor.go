package driveralarms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/alarms/internal/raiser"
	"github.com/otkit/otkit/tags"

	"github.com/otkit/otkit/alarms"
)

const driverKey = "driver-offline:" // prefix of the key of an alarm; the driver's id follows

// Source lists drivers with their states. A tags.Engine is a Source.
type Source interface {
	Drivers() []tags.DriverStatus
}

// Options configure a [Monitor]. The zero value works.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Delay    time.Duration    // how long a driver must be offline before its alarm is raised; default 30 s
	Severity *alarms.Severity // of the alarms; default Error
	Disabled bool             // raise no alarms, and clear those that are active

	// ExcludeTypes are types of drivers that somebody else monitors, as in tags.DriverStatus.Type. Their drivers get no
	// alarms, and those that are active are cleared.
	ExcludeTypes []string

	// Engine names this engine if several use one store: the alarm of a driver that is not in the source is then
	// cleared only if an engine of this name raised it. Default: no other engine uses the store.
	Engine string
	// Plant is set if the engines that use one store share their drivers, each of which one of them runs at a time; Engine is required then.
	Plant Plant
}

// Plant knows which of several engines runs a driver. It must not wait.
type Plant interface {
	// Owner returns the name of the engine that runs a driver; ok is false if none does.
	Owner(driver string) (engine string, ok bool)
	// Spare reports whether this engine raises the alarms of drivers that no engine runs. One does.
	Spare() bool
	// Why returns why no engine runs a driver. It may be empty.
	Why(driver string) string
}

// Monitor raises an alarm for each driver that is offline for longer than a delay. It clears the alarm when the device
// returns values again, when the driver is stopped, or when the driver has been removed for the delay. The alarm's
// Source and its label driverId are the driver's id, its SourceType is Equipment.
//
// An outage begins when a driver is not Online. It ends with the first reading, or when the driver has been Online for
// the delay: a device that accepts connections and never responds would otherwise be well for a moment after each
// connection. A stopped driver is not offline. A removed driver keeps its alarm for the delay, because it may be added
// again with other settings.
//
// Only stored alarms survive a restart. An active alarm is not raised twice. If the alarm of an outage was not stored,
// because of the delay or because the store could not be written, the outage is detected again: its delay begins when
// the process starts, and the alarm has the later time. Every driver is offline for a moment after a start, and only the
// delay distinguishes that from an outage.
//
// With Options.Plant, each engine follows all drivers, and raises and clears the alarms of those that it runs. The label engine names it. If a
// driver moves, its alarm stays, and its new engine, which has followed the outage, waits for the rest of the delay only. A driver
// that no engine runs is offline.
//
// A Monitor has no goroutine of its own; see [Monitor.Run].
type Monitor struct {
	source   Source
	target   alarms.Target
	log      *slog.Logger
	now      func() time.Time
	delay    time.Duration
	severity alarms.Severity
	disabled bool
	exclude  []string
	engine   string
	plant    Plant

	loaded  bool      // the active alarms are known
	readAt  time.Time // when they were read last
	watches map[string]*driverWatch
	alarms  *raiser.Raiser
}

// driverWatch is the state of one driver.
type driverWatch struct {
	sharedWatch
	since   time.Time // when the outage began; zero for none
	online  time.Time // since when the driver is Online in the outage; zero if it is not
	samples uint64    // number of samples when it was last not Online
	absent  time.Time // since when the source does not have it; zero if it does
}

// New returns a monitor, which works while [Monitor.Run] does. source and target are required.
func New(source Source, target alarms.Target, o Options) (*Monitor, error) {
	switch {
	case source == nil:
		return nil, errors.New("driveralarms: New: source is required")
	case target == nil:
		return nil, errors.New("driveralarms: New: target is required")
	case o.Delay < 0:
		return nil, fmt.Errorf("driveralarms: Options.Delay must not be negative, not %v", o.Delay)
	case o.Plant != nil && o.Engine == "":
		return nil, errors.New("driveralarms: Options.Engine is required with Options.Plant")
	case o.Severity != nil && !o.Severity.Valid():
		return nil, fmt.Errorf("driveralarms: Options.Severity must be Info, Warning, Error or Critical, not %v", *o.Severity)
	}
	d := &Monitor{
		source: source, target: target, alarms: raiser.New(target), log: o.Logger, now: o.Now, delay: cmp.Or(o.Delay, 30*time.Second), severity: alarms.Error,
		disabled: o.Disabled, exclude: slices.Clone(o.ExcludeTypes), engine: o.Engine, plant: o.Plant, watches: make(map[string]*driverWatch),
	}
	if o.Severity != nil {
		d.severity = *o.Severity
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	return d, nil
}

// Run checks the drivers every second until ctx ends, which should be before the drivers are stopped. It must be called
// once. Alarms that cannot be stored are stored later; an outage that is over by then is stored with its end. With
// Options.Disabled, Run returns when the active alarms are cleared.
func (d *Monitor) Run(ctx context.Context) { d.alarms.Run(ctx, d.log, "driver", d.disabled, d.step) }

// step polls the drivers, also while the active alarms cannot be read.
func (d *Monitor) step(ctx context.Context) (err error) {
	now := d.now()
	list := d.drivers()
	d.divide(list, now)
	if !d.loaded {
		err = d.load(ctx, list, now)
	}
	d.poll(list, now)
	return err
}

// load reads the active alarms, and takes over those that are this engine's.
func (d *Monitor) load(ctx context.Context, list []tags.DriverStatus, now time.Time) error {
	ours := make(map[string]string) // the label engine by key
	for o, err := range d.target.EachActive(ctx) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(o.Key, driverKey) {
			ours[o.Key] = o.Labels[engineLabel]
		}
	}
	if d.loaded, d.readAt = true, now; d.plant != nil {
		d.share(ours, now)
		return nil
	}
	present := make(map[string]bool)
	for _, s := range list {
		present[driverKey+s.ID] = s.State != tags.DriverStopped
	}
	for key, engine := range ours {
		if d.engine != "" && engine != d.engine && !present[key] {
			continue // the driver belongs to another engine
		}
		d.watch(key, now)
		d.alarms.SetRaised(key)
	}
	return nil
}

// drivers returns the drivers to monitor.
func (d *Monitor) drivers() []tags.DriverStatus {
	if d.disabled {
		return nil
	}
	return d.source.Drivers()
}

// watch returns the state of a driver. A new one counts as offline until it is Online.
func (d *Monitor) watch(key string, now time.Time) *driverWatch {
	w := d.watches[key]
	if w == nil {
		w = &driverWatch{since: now}
		d.watches[key] = w
	}
	return w
}

const whyGone = "the driver was stopped or removed"

// poll updates the state of every driver.
func (d *Monitor) poll(list []tags.DriverStatus, now time.Time) {
	there, ended := make(map[string]bool), make(map[string]string) // ended: why the alarm ends immediately
	for _, s := range list {
		key := driverKey + s.ID
		switch {
		case s.State == tags.DriverStopped && d.plant == nil:
			ended[key] = whyGone
			continue
		case slices.Contains(d.exclude, s.Type):
			ended[key] = "drivers of this type are not monitored"
			continue
		}
		there[key] = true
		w := d.watch(key, now)
		w.absent = time.Time{}
		if d.heard(w, &s, now) {
			w.follow(&s, now, d.delay)
		}
		if d.acts(w) {
			d.judge(key, w, &s, now)
		}
	}
	for key, w := range d.watches {
		why := ended[key]
		if d.disabled {
			why = "drivers are no longer monitored"
		}
		switch raised := d.alarms.Raised(key); {
		case there[key]:
		case raised && why == "" && !w.missing(now, d.delay):
		case raised:
			d.alarms.Clear(key, cmp.Or(why, whyGone), now)
		case !d.alarms.Pending(key):
			delete(d.watches, key)
		}
	}
}

// judge raises or clears the alarm of a driver.
func (d *Monitor) judge(key string, w *driverWatch, s *tags.DriverStatus, now time.Time) {
	switch raised, lasts := d.alarms.Raised(key), !w.since.IsZero() && now.Sub(w.since) >= d.delay; {
	case w.since.IsZero() && raised:
		d.alarms.Clear(key, "", now)
	case lasts && !raised && (d.plant == nil || now.Sub(w.began) >= firstTry):
		d.alarms.Raise(d.alarm(key, s, d.alarms.At(now)))
		w.label = d.label(s.ID)
	case lasts && raised && d.plant != nil:
		d.update(key, w, s, now)
	}
}

// follow detects the begin and the end of an outage.
func (w *driverWatch) follow(s *tags.DriverStatus, now time.Time, delay time.Duration) {
	switch {
	case s.State != tags.DriverOnline:
		if w.since.IsZero() {
			w.since = now
		}
		w.online, w.samples = time.Time{}, s.Samples
	case !w.since.IsZero():
		if w.online.IsZero() {
			w.online = now
		}
		if w.samples == noSamples {
			w.samples = s.Samples
		}
		if s.Tags == 0 || s.Samples != w.samples || now.Sub(w.online) >= delay {
			w.since, w.online = time.Time{}, time.Time{}
		}
	}
}

// missing records that the source does not have the driver, and reports whether that has lasted for the delay. The
// samples of a driver that is added again count from 0.
func (w *driverWatch) missing(now time.Time, delay time.Duration) bool {
	if w.absent.IsZero() {
		w.absent = now
	}
	w.online, w.samples = time.Time{}, 0
	return now.Sub(w.absent) >= delay
}

const engineLabel = "engine"

func (d *Monitor) alarm(key string, s *tags.DriverStatus, now time.Time) *alarms.Alarm {
	labels := map[string]string{"driverId": s.ID}
	if engine := d.label(s.ID); engine != "" {
		labels[engineLabel] = engine
	}
	return &alarms.Alarm{
		Key: key, ID: uuid.Must(uuid.NewV7()).String(), Source: s.ID, SourceType: "Equipment", Message: d.offlineMessage(s), Severity: d.severity, Labels: labels, At: now,
	}
}

func (d *Monitor) offlineMessage(s *tags.DriverStatus) string {
	text := "Driver " + s.ID
	if s.Type != "" {
		text += " (" + s.Type + ")"
	}
	if nobody, why := d.nobodyRuns(s.ID); nobody {
		text += " is offline: no engine runs it"
		if why != "" {
			text += " (" + why + ")"
		}
		return limits.Clip(text)
	}
	what := "the device cannot be reached"
	switch s.State {
	case tags.DriverNotResponding:
		what = "the device does not respond"
	case tags.DriverOnline:
		what = "the device accepts the connection, but returns no values"
	}
	text += fmt.Sprintf(" is offline: %s (%s)", what, s.State)
	if s.LastError != "" {
		text += "; last error: " + s.LastError
	}
	return limits.Clip(text)
}
