package devicealarms

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

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/alarms/internal/raiser"
	"github.com/otkit/otkit/devices"
)

// Prefixes of the keys of alarms; the id of the device follows.
const (
	FaultKey   = "device-fault:"
	StopKey    = "device-stop:"
	OfflineKey = "device-offline:"
)

var prefixes = []string{FaultKey, StopKey, OfflineKey}

// Source returns devices that have changed after a position, and the next position; position 0 returns all. If there are
// none, it waits for a change or for the end of ctx, whose cause it then returns. A devices.Service is a Source.
type Source interface {
	Changes(ctx context.Context, after uint64) ([]devices.Device, uint64, error)
}

// Options configure a [Monitor]. The zero value works.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Delay    time.Duration // how long a device must be Offline before its alarm is raised; default 30 s
	Disabled bool          // raise no alarms, and clear those that are active

	// Engine names this engine if several use one store. It then leaves the alarms of engines of other names alone, and
	// a device is silent for it only if it has heard from the device itself. Default: no other engine uses the store.
	Engine string
	// Owns is set if the engines that use one store share their devices: it reports whether this engine is the one that has them. Each engine has
	// a Monitor, and that of the owner raises and clears all alarms, with Engine as their label.
	Owns func() bool
}

// Monitor raises alarms about devices:
//
//   - device-fault:<id>, an Error, while the last report has faults or the state Error. The message names the faults and
//     follows them.
//   - device-stop:<id>, a Critical, while an emergency stop is latched or the last report has one.
//   - device-offline:<id>, an Error, when a device that was heard from is Offline for longer than a delay.
//
// The alarm's Source and its label deviceId are the device's id, its SourceType is Equipment. What a silent device reported
// last still counts for the first two. A device that is Decommissioned has no alarms, one in maintenance is not silent.
//
// Only stored alarms survive a restart. An active alarm is not raised twice. The delay of a silent device begins when the
// process starts. If the alarms cannot be stored, they are stored later, those that are over by then with their end.
//
// With Options.Owns, the alarms stay when the devices move to another engine. That has followed how long devices are silent, and leaves other alarms of a
// device as they are until the device reports to it.
//
// A Monitor has no goroutine of its own; see [Monitor.Run].
type Monitor struct {
	source   Source
	target   alarms.Target
	log      *slog.Logger
	now      func() time.Time
	delay    time.Duration
	disabled bool
	engine   string
	owns     func() bool // nil: the devices are this engine's own

	acts     bool   // the alarms are raised and cleared here
	loaded   bool   // the alarms that were active when that began are known
	position uint64 // of the source
	devices  map[string]*device
	silent   map[string]*device   // Offline and without an alarm of it
	absent   map[string]time.Time // since when the source does not have a device that has alarms
	alarms   *raiser.Raiser
}

// device is what the monitor knows of a device.
type device struct {
	heard   bool      // there was a report or a connection
	live    bool      // there was one since the alarms are raised here
	since   time.Time // when it became Offline; zero if it is not
	lastly  time.Time // when it was heard from last
	fault   string    // message of the active alarm; empty for none
	stop    bool      // the alarm is active
	offline bool      // the alarm is active
}

// New returns a monitor, which works while [Monitor.Run] does. source and target are required.
func New(source Source, target alarms.Target, o Options) (*Monitor, error) {
	switch {
	case source == nil:
		return nil, errors.New("devicealarms: New: source is required")
	case target == nil:
		return nil, errors.New("devicealarms: New: target is required")
	case o.Delay < 0:
		return nil, fmt.Errorf("devicealarms: Options.Delay must not be negative, not %v", o.Delay)
	}
	m := &Monitor{source: source, target: target, log: o.Logger, now: o.Now, delay: cmp.Or(o.Delay, 30*time.Second), disabled: o.Disabled,
		engine: o.Engine, owns: o.Owns, acts: o.Owns == nil, devices: map[string]*device{}, silent: map[string]*device{}, absent: map[string]time.Time{}, alarms: raiser.New(target)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now
	}
	return m, nil
}

// Run checks the devices every second until ctx ends, which should be before the devices are closed. It must be called
// once. Alarms that cannot be stored are stored later. With Options.Disabled, Run returns when the active alarms are
// cleared.
func (m *Monitor) Run(ctx context.Context) {
	if m.disabled && m.owns != nil && !m.awaitOwnership(ctx) {
		return
	}
	m.alarms.Run(ctx, m.log, "device", m.disabled, m.step)
}

// awaitOwnership waits until this engine is the owner, and reports whether it is.
func (m *Monitor) awaitOwnership(ctx context.Context) bool {
	ticker := time.NewTicker(raiser.Interval)
	defer ticker.Stop()
	for !m.owns() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// step follows the devices, also while the active alarms cannot be read.
func (m *Monitor) step(ctx context.Context) (err error) {
	now := m.now()
	if m.owns != nil && m.owns() != m.acts {
		m.acts = !m.acts
		m.leave()
	}
	if m.acts && !m.loaded {
		err = m.load(ctx, now)
	}
	if !m.disabled {
		m.follow(ctx, now)
	}
	for id, since := range m.absent {
		switch {
		case m.disabled:
			m.clear(id, m.devices[id], "devices are no longer monitored", now)
		case now.Sub(since) >= m.delay:
			m.clear(id, m.devices[id], "the device is not known", now)
		default:
			continue
		}
		delete(m.absent, id)
		delete(m.devices, id)
	}
	return err
}

// leave forgets the alarms: they are those of another engine, or were.
func (m *Monitor) leave() {
	for id, d := range m.devices {
		for _, prefix := range prefixes {
			m.alarms.Forget(prefix + id)
		}
		d.fault, d.stop, d.offline, d.live = "", false, false, false
	}
	clear(m.absent)
	m.loaded = false
}

// load takes over the active alarms. Their devices are absent until the source has shown them.
func (m *Monitor) load(ctx context.Context, now time.Time) error {
	var found []alarms.Occurrence
	for o, err := range m.target.EachActive(ctx) {
		if err != nil {
			return err
		}
		if m.engine == "" || m.owns != nil || o.Labels["engine"] == m.engine {
			found = append(found, o)
		}
	}
	for _, o := range found {
		for _, prefix := range prefixes {
			id, ours := strings.CutPrefix(o.Key, prefix)
			if !ours {
				continue
			}
			d := m.devices[id]
			if d == nil {
				d = &device{}
				m.devices[id], m.absent[id] = d, now
			}
			m.alarms.SetRaised(o.Key)
			if m.owns != nil && o.Labels["engine"] != m.engine {
				a := m.alarm(prefix, id, o.Severity, o.Message, now)
				a.Cause = o.Cause
				m.alarms.Update(a)
			}
			switch prefix {
			case FaultKey:
				d.fault = o.Message
			case StopKey:
				d.stop = true
			case OfflineKey:
				d.offline = true
				delete(m.silent, id)
			}
		}
	}
	m.loaded, m.position = true, 0 // all devices are looked at again
	return nil
}

// follow looks at the devices that have changed, and at those that have been silent for long enough.
func (m *Monitor) follow(ctx context.Context, now time.Time) {
	ended, end := context.WithCancel(ctx)
	end() // Changes returns what there is and does not wait
	changed, next, err := m.source.Changes(ended, m.position)
	if err == nil {
		m.position = next
	}
	for i := range changed {
		m.look(&changed[i], now)
	}
	for id, d := range m.silent {
		if m.acts && now.Sub(d.since) >= m.delay {
			delete(m.silent, id)
			d.offline = true
			m.alarms.Raise(m.alarm(OfflineKey, id, alarms.Error, offlineMessage(id, d), now))
		}
	}
}

// look brings the alarms of a device up to date.
func (m *Monitor) look(now *devices.Device, at time.Time) {
	if now.Unheard {
		return // nothing is known of it
	}
	d := m.devices[now.ID]
	if d == nil {
		d = &device{}
		m.devices[now.ID] = d
	}
	delete(m.absent, now.ID)
	if now.State == devices.Decommissioned {
		delete(m.silent, now.ID)
		d.since = time.Time{}
		m.clear(now.ID, d, "the device was decommissioned", at)
		return
	}
	m.lookForSilence(now, d, at)
	if !m.acts {
		return
	}
	if m.knows(d) {
		m.lookForFaults(now, d, at)
	}
	stop := now.StopLatched || now.Telemetry != nil && now.Telemetry.Stop != devices.NoStop
	switch {
	case stop && !d.stop:
		m.alarms.Raise(m.alarm(StopKey, now.ID, alarms.Critical, "Emergency stop of device "+now.ID, at))
	case !stop && d.stop:
		m.alarms.Clear(StopKey+now.ID, "", at)
	}
	d.stop = stop
}

// knows reports whether what a device has reported last came to this engine.
func (m *Monitor) knows(d *device) bool {
	if m.owns != nil {
		return d.live
	}
	return d.heard || m.engine == ""
}

func (m *Monitor) lookForFaults(now *devices.Device, d *device, at time.Time) {
	message := faultMessage(now)
	switch {
	case message == d.fault:
		return
	case message == "":
		m.alarms.Clear(FaultKey+now.ID, "", at)
	case d.fault == "":
		m.alarms.Raise(m.alarm(FaultKey, now.ID, alarms.Error, message, at))
	default:
		m.alarms.Update(m.alarm(FaultKey, now.ID, alarms.Error, message, at))
	}
	d.fault = message
}

func (m *Monitor) lookForSilence(now *devices.Device, d *device, at time.Time) {
	d.lastly = now.LastSeen
	if now.State == devices.Offline {
		d.heard = d.heard || (m.engine == "" || m.owns != nil) && (now.Telemetry != nil || now.LastSeen.After(now.CreatedAt))
		if d.since.IsZero() {
			d.since = at
		}
		if d.heard && !d.offline {
			m.silent[now.ID] = d
		}
		return
	}
	d.since = time.Time{}
	delete(m.silent, now.ID)
	d.live = d.live || m.acts && !now.Held
	why := ""
	switch now.State {
	case devices.Maintenance:
		why = "the device is in maintenance"
		d.heard = d.heard || !now.Held
	case devices.Provisioned:
	default:
		d.heard = true
	}
	if d.offline {
		d.offline = false
		m.alarms.Clear(OfflineKey+now.ID, why, at)
	}
}

// clear ends all alarms of a device.
func (m *Monitor) clear(id string, d *device, why string, at time.Time) {
	if d.fault != "" {
		m.alarms.Clear(FaultKey+id, why, at)
	}
	if d.stop {
		m.alarms.Clear(StopKey+id, why, at)
	}
	if d.offline {
		m.alarms.Clear(OfflineKey+id, why, at)
	}
	d.fault, d.stop, d.offline, d.heard, d.live = "", false, false, false, false
}

func (m *Monitor) alarm(prefix, id string, severity alarms.Severity, message string, at time.Time) *alarms.Alarm {
	labels := map[string]string{"deviceId": id}
	refresh := []string{}
	if m.engine != "" {
		labels["engine"] = m.engine
	}
	if m.owns != nil {
		refresh = append(refresh, "engine")
	}
	return &alarms.Alarm{Key: prefix + id, ID: uuid.Must(uuid.NewV7()).String(), Source: id, SourceType: "Equipment", Message: message,
		Severity: severity, Labels: labels, At: m.alarms.At(at), Refresh: refresh}
}

// faultMessage returns what is wrong with a device; empty if nothing is.
func faultMessage(d *devices.Device) string {
	t := d.Telemetry
	switch {
	case t == nil || len(t.Faults) == 0 && (t.State != devices.Error || t.Stop != devices.NoStop):
		return ""
	case len(t.Faults) == 0:
		return "Device " + d.ID + " reports an error"
	}
	faults := slices.Compact(slices.Sorted(slices.Values(t.Faults))) // their order is no change
	what := "a fault: "
	if len(faults) > 1 {
		what = fmt.Sprintf("%d faults: ", len(faults))
	}
	return limits.Clip("Device " + d.ID + " reports " + what + strings.Join(faults, "; "))
}

func offlineMessage(id string, d *device) string {
	return "Device " + id + " is offline; it was heard from last at " + d.lastly.UTC().Format(time.RFC3339)
}
