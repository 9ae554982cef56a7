package driveralarms

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

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/tags"

	"github.com/otkit/otkit/alarms"
)

const (
	driverKey    = "driver-offline:" // the key of a driver's alarm is this and the driver's id
	pollInterval = time.Second
)

// Source lists the drivers of a plant with their states. A tags.Engine is one.
type Source interface {
	Drivers() []tags.DriverStatus
}

// Options configure a [Monitor]. The zero value works.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Delay    time.Duration    // how long a driver is offline without a break before its alarm is raised; default 30 s
	Severity *alarms.Severity // of the alarms; default Error
	Disabled bool             // raise none, and clear those that stand from before

	// Engine names this engine where others keep alarms in the same store: the alarm of a driver that is not
	// in the source is then cleared only when an engine of this name has raised it. Default: the store is
	// this engine's alone.
	Engine string
}

// Monitor raises an alarm for each driver that is offline for longer than a delay, and clears it when
// the device gives values again, or when the driver is stopped, or removed for the delay. Source is the driver's id,
// SourceType is Equipment, and the label driverId is the id as well.
//
// An outage begins when a driver is seen that is not Online. It ends with the first reading after that, or
// when the driver has been Online for the delay: a device that takes connections and never answers would
// else be well for a moment each time. A driver that is stopped is not offline. One that is removed keeps its
// alarm for the delay, since it may be added again with other settings.
//
// Nothing is kept over a restart but the alarms that are stored. An alarm that is active is not raised twice. An outage whose alarm was
// not stored yet, because it was in its delay or because the store could not be written, is found again: its delay begins again when the
// process starts, and the alarm has the time of the second outage. This is deliberate: a driver is offline for a moment after each start,
// and only the delay tells that from an outage.
type Monitor struct {
	source   Source
	target   alarms.Target
	log      *slog.Logger
	now      func() time.Time
	ahead    func() time.Duration // of the target's times
	delay    time.Duration
	severity alarms.Severity
	disabled bool
	engine   string

	loaded  bool // what stood at the start is known
	watches map[string]*driverWatch
	unsure  error // of the last attempt to store, while its outcome is not known; nil otherwise
}

// driverWatch is where one driver stands.
type driverWatch struct {
	since   time.Time       // when the outage began; zero while there is none
	online  time.Time       // since when the driver is Online in the outage; zero while it is not
	samples uint64          // when it was last seen that was not Online
	absent  time.Time       // since when the source does not have it; zero while it does
	raised  bool            // the alarm stands, once pending is stored
	pending []alarms.Signal // what is not stored yet, at most a raise and a clear beyond those of unsure
	unsure  int             // so many of pending may be stored already
	shown   bool            // the target shows what is pending
}

// New makes DriverAlarms; Run lets them work.
func New(source Source, target alarms.Target, o Options) (*Monitor, error) {
	switch {
	case source == nil:
		return nil, errors.New("driveralarms: New: source is required")
	case target == nil:
		return nil, errors.New("driveralarms: New: target is required")
	case o.Delay < 0:
		return nil, fmt.Errorf("driveralarms: Options.Delay must not be negative, not %v", o.Delay)
	case o.Severity != nil && !o.Severity.Valid():
		return nil, fmt.Errorf("driveralarms: Options.Severity must be Info, Warning, Error or Critical, not %v", *o.Severity)
	}
	d := &Monitor{
		source: source, target: target, ahead: alarms.AheadOf(target), log: o.Logger, now: o.Now, delay: cmp.Or(o.Delay, 30*time.Second), severity: alarms.Error,
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
func (d *Monitor) Run(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	failing := false
	for {
		err := d.step(ctx)
		d.show(ctx, err != nil)
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
func (d *Monitor) step(ctx context.Context) error {
	now := d.now()
	var err error
	if !d.loaded {
		err = d.load(ctx, now)
	}
	d.poll(now)
	if err != nil {
		return err
	}
	return d.store(ctx)
}

// show has the target show what is pending, where it cannot be stored.
func (d *Monitor) show(ctx context.Context, failing bool) {
	target, ok := d.target.(alarms.PendingTarget)
	if !ok {
		return
	}
	var changed []alarms.PendingSignals
	for key, w := range d.watches {
		if show := failing && len(w.pending) > 0; show || w.shown {
			changed, w.shown = append(changed, alarms.PendingSignals{Key: key, Signals: slices.Clone(w.pending)}), len(w.pending) > 0
		}
	}
	if len(changed) > 0 {
		target.ShowPending(ctx, changed)
	}
}

// load takes over the alarms that stand.
func (d *Monitor) load(ctx context.Context, now time.Time) error {
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

// drivers returns those that are watched.
func (d *Monitor) drivers() []tags.DriverStatus {
	if d.disabled {
		return nil
	}
	return d.source.Drivers()
}

// watch returns the watch of a driver. A new one is not well until it has been seen to be.
func (d *Monitor) watch(key string, now time.Time) *driverWatch {
	w := d.watches[key]
	if w == nil {
		w = &driverWatch{since: now}
		d.watches[key] = w
	}
	return w
}

// look moves every driver on.
func (d *Monitor) poll(now time.Time) {
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
			w.transit(alarms.Signal{Key: key, At: now.Add(d.ahead()), Reset: true})
		case !w.since.IsZero() && !w.raised && now.Sub(w.since) >= d.delay:
			w.transit(d.alarm(key, &s, now.Add(d.ahead())))
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
			w.transit(alarms.Signal{Key: key, At: now.Add(d.ahead()), Reset: true, Comment: why})
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

// missing notes that the source does not have the driver, and reports whether it has been so for the delay. The
// readings of one that is added again count from 0.
func (w *driverWatch) missing(now time.Time, delay time.Duration) bool {
	if w.absent.IsZero() {
		w.absent = now
	}
	w.online, w.samples = time.Time{}, 0
	return now.Sub(w.absent) >= delay
}

// transit queues a raise or a clear. What comes beyond two is coalesced: the outage lasts, or the pause.
func (w *driverWatch) transit(s alarms.Signal) {
	w.raised = s.Raise != nil
	if last := len(w.pending) - 1; last-w.unsure >= 1 {
		w.pending = w.pending[:last]
		return
	}
	w.pending = append(w.pending, s)
}

func (d *Monitor) store(ctx context.Context) error {
	if d.unsure != nil {
		stored, err := alarms.ResolveOutcome(ctx, d.unsure)
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
	var signals []alarms.Signal
	var taken []*driverWatch
	for _, key := range slices.Sorted(maps.Keys(d.watches)) {
		w := d.watches[key]
		if len(w.pending) > 0 && len(signals)+len(w.pending) <= alarms.MaxBatch {
			signals, taken = append(signals, w.pending...), append(taken, w)
		}
	}
	if len(signals) == 0 {
		return nil
	}
	_, err := d.target.Apply(ctx, signals)
	if errors.Is(err, alarms.ErrOutcomeUnknown) {
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

func (d *Monitor) alarm(key string, s *tags.DriverStatus, now time.Time) alarms.Signal {
	labels := map[string]string{"driverId": s.ID}
	if d.engine != "" {
		labels["engine"] = d.engine
	}
	return alarms.Signal{At: now, Raise: &alarms.Alarm{
		Key: key, ID: uuid.Must(uuid.NewV7()).String(), Source: s.ID, SourceType: "Equipment", Message: offlineMessage(s), Severity: d.severity, Labels: labels, At: now,
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
	return limits.Clip(text)
}
