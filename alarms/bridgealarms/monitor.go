package bridgealarms

import (
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
	"github.com/otkit/otkit/discovery"
)

// Prefixes of the keys of alarms; the id of the bridge follows.
const (
	OfflineKey = "bridge-offline:"
	DriverKey  = "bridge-driver-offline:"
	LostKey    = "bridge-samples-lost:"
	ShellKey   = "bridge-shell-id:"
)

var prefixes = []string{OfflineKey, DriverKey, LostKey, ShellKey}

// Source lists the bound bridges. A discovery.Service is a Source.
type Source interface {
	States() []discovery.Info
}

// Options configure a [Monitor]. The zero value works.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Disabled bool // raise no alarms, and clear those that are active

	// Engine names this engine if several use one store. It then leaves the alarms of engines of other names alone. Default: no other
	// engine uses the store.
	Engine string
	// Shared is set if engines share the bridges: each looks after the alarms of those that are not Elsewhere, and takes them over as the one before has left
	// them.
	Shared bool
}

// Monitor raises alarms about bridges, the last a Warning, the others Errors:
//
//   - bridge-offline:<id>, when no link of a bridge has lasted for as long as three heartbeats take, until one does.
//   - bridge-driver-offline:<id>, when the driver of a bridge has been without its device for discovery.DriverDownDelay, until it has it. An
//     outage that was over when the engine learned of it is reported as late, see [Monitor.DriverWasDown].
//   - bridge-samples-lost:<id>, when a bridge has dropped samples before it could deliver them. The message has their number and follows
//     it. The alarm ends when discovery.LossPause has passed without a loss.
//   - bridge-shell-id:<id>, when the shell of a bridge cannot have the id that the bridge is configured to give it, until it can.
//
// The alarm's Source is the bridge's id, its label driverId the bridge's driver in the engine, its SourceType Equipment. A bridge that is
// not bound any more has no alarms.
//
// Only stored alarms survive a restart. An active alarm is not raised twice, and a restart does not clear it. If the alarms cannot be
// stored, they are stored later.
//
// A Monitor has no goroutine of its own; see [Monitor.Run].
type Monitor struct {
	source   Source
	target   alarms.Target
	log      *slog.Logger
	now      func() time.Time
	disabled bool
	engine   string
	shared   bool

	loaded  time.Time // when the active alarms were taken over last, by the monotonic clock; zero: they are not known
	bridges map[string]*bridge
	alarms  *raiser.Raiser
}

// bridge has the messages of the active alarms of a bridge; empty for none.
type bridge struct {
	offline, driver, lost, shell string
	updated                      time.Time // when lost was raised or updated
}

// New returns a monitor, which works while [Monitor.Run] does. target is required.
func New(target alarms.Target, o Options) (*Monitor, error) {
	if target == nil {
		return nil, errors.New("bridgealarms: New: target is required")
	}
	m := &Monitor{target: target, log: o.Logger, now: o.Now, disabled: o.Disabled, engine: o.Engine, shared: o.Shared, bridges: map[string]*bridge{}, alarms: raiser.New(target)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now
	}
	return m, nil
}

// Run checks the bridges of source every second until ctx ends. It must be called once. With Options.Disabled, Run returns when the
// active alarms are cleared.
func (m *Monitor) Run(ctx context.Context, source Source) {
	m.source = source
	m.alarms.Run(ctx, m.log, "bridge", m.disabled, m.step)
}

// DriverWasDown implements discovery.Journal: it stores an alarm that has ended, unless the monitor is disabled.
func (m *Monitor) DriverWasDown(ctx context.Context, b discovery.Binding, until time.Time) error {
	if m.disabled {
		return nil
	}
	a := m.driverAlarm(&b)
	a.At = m.alarms.At(a.At)
	_, err := m.target.Apply(ctx, []alarms.Signal{{Raise: a, Ended: m.alarms.At(until)}})
	return err
}

func (m *Monitor) step(ctx context.Context) error {
	states := m.source.States()
	if m.mustLoad(states) {
		if err := m.load(ctx, states); err != nil {
			return err // what is raised before could be raised twice
		}
	}
	now := m.now()
	present := map[string]bool{}
	for i := range states {
		info := &states[i]
		switch {
		case info.Elsewhere:
			m.leave(info.BridgeID)
		case !m.disabled:
			present[info.BridgeID] = true
			m.look(info, now)
		}
	}
	why := "the bridge is not bound any more"
	if m.disabled {
		why = "bridges are no longer monitored"
	}
	for id, b := range m.bridges {
		if !present[id] {
			for _, prefix := range prefixes {
				m.clear(b.message(prefix), prefix+id, why, now)
			}
			delete(m.bridges, id)
		}
	}
	return nil
}

// loadInterval is how often engines that share the bridges look for alarms that they do not know: one that was late may have raised them, or their bridge was
// unbound when no engine looked after it.
const loadInterval = time.Minute

// mustLoad reports whether the active alarms must be taken over: at the start, and where engines share the bridges, of a bridge that has come here.
func (m *Monitor) mustLoad(states []discovery.Info) bool {
	if !m.shared || m.loaded.IsZero() {
		return m.loaded.IsZero()
	}
	return time.Since(m.loaded) >= loadInterval ||
		slices.ContainsFunc(states, func(info discovery.Info) bool { return !info.Elsewhere && m.bridges[info.BridgeID] == nil })
}

// load takes over the active alarms of the bridges that are not elsewhere, as far as they are not known.
func (m *Monitor) load(ctx context.Context, states []discovery.Info) error {
	elsewhere := map[string]bool{}
	for i := range states {
		elsewhere[states[i].BridgeID] = states[i].Elsewhere
	}
	at := time.Now()
	found := map[string]string{} // messages by key
	for o, err := range m.target.EachActive(ctx) {
		if err != nil {
			return err
		}
		if m.engine == "" || o.Labels["engine"] == m.engine {
			found[o.Key] = o.Message
		}
	}
	for key, message := range found {
		for _, prefix := range prefixes {
			id, ours := strings.CutPrefix(key, prefix)
			if !ours || elsewhere[id] || m.alarms.Pending(key) {
				continue
			}
			if m.bridges[id] == nil {
				m.bridges[id] = &bridge{}
			}
			if known := m.bridges[id].message(prefix); *known == "" {
				*known = message
				m.alarms.SetRaised(key)
			}
		}
	}
	for id, b := range m.bridges {
		for _, prefix := range prefixes {
			key, message := prefix+id, b.message(prefix)
			if _, active := found[key]; *message != "" && !active && !m.alarms.Pending(key) { // another engine that did not know better has cleared it
				*message = ""
				m.alarms.Forget(key)
			}
		}
	}
	m.loaded = at
	return nil
}

// leave leaves the alarms of a bridge to another engine.
func (m *Monitor) leave(bridgeID string) {
	if m.bridges[bridgeID] == nil {
		return
	}
	for _, prefix := range prefixes {
		m.alarms.Forget(prefix + bridgeID)
	}
	delete(m.bridges, bridgeID)
}

func (b *bridge) message(prefix string) *string {
	switch prefix {
	case OfflineKey:
		return &b.offline
	case DriverKey:
		return &b.driver
	case ShellKey:
		return &b.shell
	}
	return &b.lost
}

// look brings the alarms of a bridge up to date.
func (m *Monitor) look(info *discovery.Info, now time.Time) {
	id, b := info.BridgeID, m.bridges[info.BridgeID]
	if b == nil {
		b = &bridge{}
		m.bridges[id] = b
	}
	switch {
	case info.LinkOpen && !info.Down:
		m.clear(&b.offline, OfflineKey+id, "", now)
	case !info.LinkOpen && info.Down && b.offline == "":
		m.raise(&b.offline, m.alarm(OfflineKey, &info.Binding, offlineMessage(info), now))
	}
	switch {
	case info.DriverDownAt.IsZero():
		m.clear(&b.driver, DriverKey+id, "", now)
	case info.DriverDown && b.driver == "":
		m.raise(&b.driver, m.driverAlarm(&info.Binding))
	}
	m.lookAtShell(b, info, now)
	lost := m.alarm(LostKey, &info.Binding, lostMessage(&info.Binding), now)
	switch {
	case !info.LosesAt(now):
		m.clear(&b.lost, LostKey+id, "", now)
	case b.lost == "":
		m.raise(&b.lost, lost)
		b.updated = now
	case b.lost != lost.Message && now.Sub(b.updated).Abs() >= updateInterval:
		lost.At = m.alarms.At(now)
		m.alarms.Update(lost)
		b.lost, b.updated = lost.Message, now
	}
}

// lookAtShell brings the alarm about the shell of a bridge up to date, once its shell is known.
func (m *Monitor) lookAtShell(b *bridge, info *discovery.Info, now time.Time) {
	if !info.ShellKnown {
		return
	}
	a := m.alarm(ShellKey, &info.Binding, fmt.Sprintf("The shell of bridge %s has its default id: %s", info.BridgeID, info.ShellProblem), now)
	a.Severity = alarms.Warning
	if info.ShellProblem == "" || b.shell != a.Message {
		m.clear(&b.shell, ShellKey+info.BridgeID, "", now)
	}
	if info.ShellProblem != "" && b.shell == "" {
		m.raise(&b.shell, a)
	}
}

// updateInterval is the least time between two changes of a message: each is journaled.
const updateInterval = time.Minute

// raise begins an alarm, whose message it keeps.
func (m *Monitor) raise(message *string, a *alarms.Alarm) {
	a.At = m.alarms.At(a.At)
	m.alarms.Raise(a)
	*message = a.Message
}

// clear ends an alarm if it is active.
func (m *Monitor) clear(message *string, key, why string, now time.Time) {
	if *message != "" {
		m.alarms.Clear(key, why, now)
		*message = ""
	}
}

func (m *Monitor) alarm(prefix string, b *discovery.Binding, message string, at time.Time) *alarms.Alarm {
	labels := map[string]string{"driverId": b.DriverID}
	if m.engine != "" {
		labels["engine"] = m.engine
	}
	return &alarms.Alarm{Key: prefix + b.BridgeID, ID: uuid.Must(uuid.NewV7()).String(), Source: b.BridgeID, SourceType: "Equipment",
		Message: limits.Clip(message), Severity: alarms.Error, Labels: labels, At: at, Refresh: []string{}}
}

// driverAlarm returns the alarm of an outage, which has the same id each time: the bridge may report it again.
func (m *Monitor) driverAlarm(b *discovery.Binding) *alarms.Alarm {
	message := fmt.Sprintf("The driver of bridge %s has no connection to its device", b.BridgeID)
	if b.DriverDownText != "" {
		message += ": " + b.DriverDownText
	}
	a := m.alarm(DriverKey, b, message, b.DriverDownAt)
	a.ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s%s@%d", DriverKey, b.BridgeID, b.DriverDownAt.UnixMicro())).String()
	return a
}

func offlineMessage(info *discovery.Info) string {
	id, since := info.BridgeID, info.Since.UTC().Format(time.RFC3339)
	switch {
	case info.LinkedAt.IsZero():
		return fmt.Sprintf("Bridge %s has not opened its link since it was bound at %s; it may not reach the engine", id, info.BoundAt.UTC().Format(time.RFC3339))
	case info.Problem == "" && !info.Offline:
		return fmt.Sprintf("Bridge %s is reachable, but its link to the engine is not open since %s", id, since)
	case info.Problem == "":
		return fmt.Sprintf("Bridge %s is offline since %s", id, since)
	}
	return fmt.Sprintf("Bridge %s is offline since %s: %s", id, since, info.Problem)
}

func lostMessage(b *discovery.Binding) string {
	message := fmt.Sprintf("Bridge %s has dropped samples before they were delivered", b.BridgeID)
	if b.RecentlyLost > 0 {
		message = fmt.Sprintf("Bridge %s has dropped %d samples before they were delivered", b.BridgeID, b.RecentlyLost)
	}
	if b.LostText != "" {
		message += ": " + b.LostText
	}
	return message
}
