package alarms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/tags"
)

const (
	driverKey = "driver-offline:" // the key of a driver's alarm is this and the driver's id
	lookEvery = time.Second
)

// DriverSource tells how the drivers of a plant are doing; a tags.Engine is one.
type DriverSource interface {
	Drivers() []tags.DriverStatus
}

// DriverAlarmsOptions configure DriverAlarms. The zero DriverAlarmsOptions work.
type DriverAlarmsOptions struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Delay    time.Duration // how long a driver is offline without a break before its alarm is raised; default 30 s
	Severity *Severity     // of the alarms; default Error
	Disabled bool          // raise none, and clear those that stand from before

	// Engine names this engine where others keep alarms in the same store: the alarm of a driver that is not
	// in the source is then cleared only when an engine of this name has raised it. Default: the store is
	// this engine's alone.
	Engine string
}

// DriverAlarms raises an alarm for each driver that is offline for longer than a delay, and clears it when
// the device gives values again, or when the driver is stopped, or removed for the delay. Source is the driver's id,
// SourceType is Equipment, and the label driverId is the id as well.
//
// An outage begins when a driver is seen that is not Online. It ends with the first reading after that, or
// when the driver has been Online for the delay: a device that takes connections and never answers would
// else be well for a moment each time. A driver that is stopped is not offline. One that is removed keeps its
// alarm for the delay, since it may be added again with other settings. The times of outages are
// counted anew when the process starts; an alarm that stands from before is not raised twice.
type DriverAlarms struct {
	source   DriverSource
	target   Target
	log      *slog.Logger
	now      func() time.Time
	delay    time.Duration
	severity Severity
	disabled bool
	engine   string

	loaded  bool // what stood at the start is known
	watches map[string]*driverWatch
	unsure  error // of the last attempt to store, while its outcome is not known; nil otherwise
}

// driverWatch is where one driver stands.
type driverWatch struct {
	since   time.Time // when the outage began; zero while there is none
	online  time.Time // since when the driver is Online in the outage; zero while it is not
	samples uint64    // when it was last seen that was not Online
	absent  time.Time // since when the source does not have it; zero while it does
	raised  bool      // the alarm stands, once pending is stored
	pending []Signal  // what is not stored yet, at most a raise and a clear beyond those of unsure
	unsure  int       // so many of pending may be stored already
}

// NewDriverAlarms makes DriverAlarms; Run lets them work.
func NewDriverAlarms(source DriverSource, target Target, o DriverAlarmsOptions) (*DriverAlarms, error) {
	switch {
	case source == nil || target == nil:
		return nil, errors.New("alarms: DriverAlarms need a DriverSource and a Target")
	case o.Delay < 0:
		return nil, errors.New("alarms: DriverAlarmsOptions.Delay must not be negative")
	case o.Severity != nil && !o.Severity.Valid():
		return nil, errors.New("alarms: DriverAlarmsOptions.Severity must be Info, Warning, Error or Critical")
	}
	d := &DriverAlarms{
		source: source, target: target, log: o.Logger, now: o.Now, delay: cmp.Or(o.Delay, 30*time.Second), severity: Error,
		disabled: o.Disabled, engine: o.Engine, watches: make(map[string]*driverWatch),
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

// Run looks at the drivers every second until ctx ends, which should be before the drivers are stopped. It
// is to be called once. What cannot be stored is kept and tried again; an outage that is over by then is
// stored with its end. With Options.Disabled it returns when the alarms that stood are cleared.
func (d *DriverAlarms) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	failing := false
	for {
		err := d.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			d.log.Error("alarms of drivers cannot be stored and wait", "error", err)
		case err == nil && failing:
			d.log.Info("alarms of drivers are stored again")
		}
		failing = err != nil
		if d.disabled && err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// step looks once and stores what follows. It looks also while nothing can be stored.
func (d *DriverAlarms) step(ctx context.Context) error {
	now := d.now()
	var err error
	if !d.loaded {
		err = d.load(ctx, now)
	}
	d.look(now)
	if err != nil {
		return err
	}
	return d.store(ctx)
}

// load takes over the alarms that stand.
func (d *DriverAlarms) load(ctx context.Context, now time.Time) error {
	ours := make(map[string]bool)
	for o, err := range d.target.EachActive(ctx) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(o.Key, driverKey) {
			ours[o.Key] = d.engine == "" || o.Labels["engine"] == d.engine
		}
	}
	present := make(map[string]bool)
	for _, s := range d.drivers() {
		present[driverKey+s.ID] = s.State != tags.DriverStopped
	}
	for key, own := range ours {
		if !own && !present[key] {
			continue // of a driver of another engine
		}
		w := d.watch(key, now)
		w.raised, w.pending = true, nil
	}
	d.loaded = true
	return nil
}

// drivers gives those that are watched.
func (d *DriverAlarms) drivers() []tags.DriverStatus {
	if d.disabled {
		return nil
	}
	return d.source.Drivers()
}

// watch gives the watch of a driver. A new one is not well until it has been seen to be.
func (d *DriverAlarms) watch(key string, now time.Time) *driverWatch {
	w := d.watches[key]
	if w == nil {
		w = &driverWatch{since: now}
		d.watches[key] = w
	}
	return w
}

// look moves every driver on.
func (d *DriverAlarms) look(now time.Time) {
	there, stopped := make(map[string]bool), make(map[string]bool)
	for _, s := range d.drivers() {
		key := driverKey + s.ID
		if s.State == tags.DriverStopped {
			stopped[key] = true
			continue
		}
		there[key] = true
		w := d.watch(key, now)
		w.absent = time.Time{}
		w.follow(&s, now, d.delay)
		switch {
		case w.since.IsZero() && w.raised:
			w.transit(Signal{Key: key, At: now, End: true})
		case !w.since.IsZero() && !w.raised && now.Sub(w.since) >= d.delay:
			w.transit(d.alarm(key, &s, now))
		}
	}
	why := "the driver was stopped or removed"
	if d.disabled {
		why = "drivers are not watched any more"
	}
	for key, w := range d.watches {
		switch {
		case there[key]:
		case w.raised && !d.disabled && !stopped[key] && !w.missing(now, d.delay):
		case w.raised:
			w.transit(Signal{Key: key, At: now, End: true, Comment: why})
		case len(w.pending) == 0:
			delete(d.watches, key)
		}
	}
}

// follow begins and ends outages.
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
		if s.Tags == 0 || s.Samples != w.samples || now.Sub(w.online) >= delay {
			w.since, w.online = time.Time{}, time.Time{}
		}
	}
}

// missing notes that the source does not have the driver, and says whether it has been so for the delay. The
// readings of one that is added again count from 0.
func (w *driverWatch) missing(now time.Time, delay time.Duration) bool {
	if w.absent.IsZero() {
		w.absent = now
	}
	w.online, w.samples = time.Time{}, 0
	return now.Sub(w.absent) >= delay
}

// transit queues a raise or a clear. What comes beyond two is folded: the outage lasts, or the pause.
func (w *driverWatch) transit(s Signal) {
	w.raised = s.Raise != nil
	if last := len(w.pending) - 1; last-w.unsure >= 1 {
		w.pending = w.pending[:last]
		return
	}
	w.pending = append(w.pending, s)
}

func (d *DriverAlarms) store(ctx context.Context) error {
	if d.unsure != nil {
		stored, err := settle(ctx, d.unsure)
		if err != nil {
			return err
		}
		d.unsure = nil
		for _, w := range d.watches {
			if stored {
				w.pending = w.pending[w.unsure:]
			}
			w.unsure = 0
		}
	}
	var signals []Signal
	var taken []*driverWatch
	for _, key := range slices.Sorted(maps.Keys(d.watches)) {
		w := d.watches[key]
		if len(w.pending) > 0 && len(signals)+len(w.pending) <= maxBatch {
			signals, taken = append(signals, w.pending...), append(taken, w)
		}
	}
	if len(signals) == 0 {
		return nil
	}
	_, err := d.target.Apply(ctx, signals)
	if errors.Is(err, ErrOutcomeUnknown) {
		d.unsure = err
	}
	for _, w := range taken {
		switch {
		case err == nil:
			w.pending = nil
		case d.unsure != nil:
			w.unsure = len(w.pending)
		}
	}
	return err
}

func (d *DriverAlarms) alarm(key string, s *tags.DriverStatus, now time.Time) Signal {
	labels := map[string]string{"driverId": s.ID}
	if d.engine != "" {
		labels["engine"] = d.engine
	}
	return Signal{At: now, Raise: &Alarm{
		Key: key, Source: s.ID, SourceType: "Equipment", Message: offlineMessage(s), Severity: d.severity, Labels: labels, At: now,
	}}
}

func offlineMessage(s *tags.DriverStatus) string {
	text := "Driver " + s.ID
	if s.Type != "" {
		text += " (" + s.Type + ")"
	}
	what := "the device cannot be reached"
	switch s.State {
	case tags.DriverNotResponding:
		what = "the device does not answer"
	case tags.DriverOnline:
		what = "the device takes the connection, but gives no value"
	}
	text += fmt.Sprintf(" is offline: %s (%s)", what, s.State)
	if s.LastError != "" {
		text += "; last error: " + s.LastError
	}
	return clip(text)
}
