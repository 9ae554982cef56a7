package enginealarms

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/alarms/internal/raiser"
	"github.com/otkit/otkit/cluster"
)

// LostKey is the prefix of the keys of alarms; the id of the engine follows.
const LostKey = "engine-lost:"

// The labels of alarms.
const (
	LabelEngineID = "engineId"
	LabelSession  = "session" // of the run that was lost, see cluster.Session
)

// Plant knows the engines. It must not wait. A cluster.View has what it needs.
type Plant interface {
	// Alive returns the ids of the engines that run.
	Alive() []string
	// Lost returns the engines that are lost and not back. One that is raised once need not be in it any more.
	Lost() []cluster.Loss
}

// Target is what alarms are raised in. An alarms.Service is a Target.
type Target interface {
	alarms.Target
	// Condition returns a condition. It returns alarms.ErrAlarmNotFound if there is none.
	Condition(ctx context.Context, ref alarms.Ref) (alarms.Condition, error)
}

// Options configure a [Monitor]. The zero value works.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	Severity *alarms.Severity // of the alarms; default Error
}

// Monitor raises an alarm for each engine that is lost, with the key engine-lost:<id>. It clears the alarm when the engine is back, or
// when somebody acknowledges it: an engine that was taken away for good does not come back. The alarm's Source is the name of the engine, or its
// id if it has none; its SourceType is Engine; its labels are engineId, session and, where it is known, host.
//
// A loss is raised once, whichever engines monitor it one after another: the alarm has the session that was lost. If no engine is
// left, or the last one misses the loss, there is no alarm.
//
// One engine of a plant runs a Monitor at a time. It has no goroutine of its own; see [Monitor.Run].
type Monitor struct {
	plant    Plant
	target   Target
	log      *slog.Logger
	now      func() time.Time
	severity alarms.Severity
}

// New returns a monitor, which works while [Monitor.Run] does. plant and target are required.
func New(plant Plant, target Target, o Options) (*Monitor, error) {
	switch {
	case plant == nil:
		return nil, errors.New("enginealarms: New: plant is required")
	case target == nil:
		return nil, errors.New("enginealarms: New: target is required")
	case o.Severity != nil && !o.Severity.Valid():
		return nil, errors.New("enginealarms: Options.Severity must be Info, Warning, Error or Critical")
	}
	m := &Monitor{plant: plant, target: target, log: o.Logger, now: o.Now, severity: alarms.Error}
	if o.Severity != nil {
		m.severity = *o.Severity
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now
	}
	return m, nil
}

// Run checks the engines every second until ctx ends. It may be called again when it has returned. Alarms that cannot be stored are stored later.
func (m *Monitor) Run(ctx context.Context) {
	r := &run{Monitor: m, alarms: raiser.New(m.target), active: map[string]bool{}, raised: map[string]bool{}}
	r.alarms.Run(ctx, m.log, "engine", false, r.step)
	r.alarms.Leave(context.WithoutCancel(ctx)) // another engine goes on
}

// run is one Run.
type run struct {
	*Monitor
	alarms *raiser.Raiser
	loaded time.Time       // when the active alarms were read last; zero: they are not known
	active map[string]bool // engines that have an alarm
	raised map[string]bool // sessions that were lost and have had their alarm
}

// reread is how often the active alarms are read again. An engine that had the job before may have stored one in the moment after.
const reread = time.Minute

func (r *run) step(ctx context.Context) error {
	if r.loaded.IsZero() || time.Since(r.loaded) >= reread {
		if err := r.load(ctx); err != nil {
			return err // what is raised before could be raised twice
		}
	}
	lost := r.plant.Lost()
	sessions := make(map[string]bool, len(lost))
	for i := range lost {
		sessions[lost[i].ID] = true
		if err := r.raise(ctx, &lost[i]); err != nil {
			return err
		}
	}
	for session := range r.raised {
		if !sessions[session] {
			delete(r.raised, session)
		}
	}
	return r.clear(ctx)
}

// load takes over the active alarms, as far as they are not known.
func (r *run) load(ctx context.Context) error {
	at := time.Now()
	for o, err := range r.target.EachActive(ctx) {
		if err != nil {
			return err
		}
		if engine, ours := strings.CutPrefix(o.Key, LostKey); ours {
			r.take(engine)
		}
	}
	r.loaded = at
	return nil
}

// take takes over the alarm of an engine that is active.
func (r *run) take(engine string) {
	if key := LostKey + engine; !r.alarms.Pending(key) {
		r.active[engine] = true
		r.alarms.SetRaised(key)
	}
}

// raise raises the alarm of a loss unless it has had one.
func (r *run) raise(ctx context.Context, l *cluster.Loss) error {
	key := LostKey + l.Engine
	if r.raised[l.ID] || r.alarms.Pending(key) {
		return nil
	}
	c, err := r.target.Condition(ctx, alarms.ByKey(key))
	switch {
	case errors.Is(err, alarms.ErrAlarmNotFound):
	case err != nil:
		return err
	case c.Last != nil && c.Last.Labels[LabelSession] == l.ID: // perhaps by another engine, and somebody has acknowledged it
		if r.raised[l.ID] = true; c.Last.Active {
			r.take(l.Engine)
		}
		return nil
	case c.Last != nil && c.Last.Active: // it was back, and is lost again before that was noticed
		r.alarms.Clear(key, "", l.At)
	}
	r.raised[l.ID], r.active[l.Engine] = true, true
	r.alarms.Raise(r.alarm(key, l))
	return nil
}

func (r *run) alarm(key string, l *cluster.Loss) *alarms.Alarm {
	name, host := cmp.Or(limits.ClipName(l.Name), l.Engine), limits.ClipName(l.Host)
	labels := map[string]string{LabelEngineID: l.Engine, LabelSession: l.ID}
	message := "Engine " + name
	if host != "" {
		labels["host"] = host
		message += " on " + host
	}
	message += " is lost: it was killed, hangs or does not reach the database"
	return &alarms.Alarm{
		Key: key, ID: uuid.Must(uuid.NewV7()).String(), Source: name, SourceType: "Engine", Message: limits.Clip(message), Severity: r.severity,
		Labels: labels, Cause: alarms.Cause{Instructions: instructions}, At: r.alarms.At(l.At),
	}
}

const instructions = "See whether the engine runs and reaches the database; the other engines have taken over its work, as far as they can do it. " +
	"The alarm ends when the engine is back. If it is not to come back, acknowledge the alarm, which ends it, too."

// clear ends the alarms of engines that are back, and those that are acknowledged.
func (r *run) clear(ctx context.Context) error {
	if len(r.active) == 0 {
		return nil
	}
	alive := map[string]bool{}
	for _, engine := range r.plant.Alive() {
		alive[engine] = true
	}
	for engine := range r.active {
		key := LostKey + engine
		if alive[engine] {
			delete(r.active, engine)
			r.alarms.Clear(key, "", r.now())
			continue
		}
		if r.alarms.Pending(key) {
			continue
		}
		c, err := r.target.Condition(ctx, alarms.ByKey(key))
		switch {
		case err != nil && !errors.Is(err, alarms.ErrAlarmNotFound):
			return err
		case err != nil || c.Last == nil || !c.Last.Active: // somebody else has cleared it
			delete(r.active, engine)
			r.alarms.Forget(key)
		case c.Last.Acknowledged():
			delete(r.active, engine)
			r.alarms.Clear(key, "it is acknowledged that the engine is lost", r.now())
		}
	}
	return nil
}
