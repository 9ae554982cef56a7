package enginealarms

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
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

// Plant knows the engines. Alive and Lost must not wait. A cluster.Member has what it needs.
type Plant interface {
	// Alive returns the ids of the engines that run.
	Alive() []string
	// Lost returns the losses that are not forgotten, at most one of an engine.
	Lost() []cluster.Loss
	// Forget removes the loss of a session, whose alarm has ended.
	Forget(ctx context.Context, session string) error
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

	Severity  *alarms.Severity // of the alarms; default Error
	GoneAfter time.Duration    // how long after it was acknowledged the alarm of an engine that is not back ends; default 24 h
}

// Monitor raises an alarm for each engine that is lost, with the key engine-lost:<id>. It clears the alarm when the engine is back. One that was taken
// away for good does not come back: its alarm ends a day after it was acknowledged. Then the loss is forgotten. The alarm's Source is the name of the
// engine, or its id if it has none; its SourceType is Equipment; its labels are engineId, session and, where it is known, host.
//
// A loss has one alarm, whichever engines run a Monitor one after another: its label has the session that was lost. An engine that is back before that is
// noticed has an alarm that has ended.
//
// One engine of a plant runs a Monitor at a time. It has no goroutine of its own; see [Monitor.Run].
type Monitor struct {
	plant     Plant
	target    Target
	log       *slog.Logger
	now       func() time.Time
	severity  alarms.Severity
	goneAfter time.Duration
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
	case o.GoneAfter < 0:
		return nil, errors.New("enginealarms: Options.GoneAfter must not be negative")
	}
	m := &Monitor{plant: plant, target: target, log: o.Logger, now: o.Now, severity: alarms.Error, goneAfter: cmp.Or(o.GoneAfter, 24*time.Hour)}
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

// Run checks the engines every second until ctx ends. It may be called again when it has returned. Alarms that cannot be stored are stored later, by whoever
// runs a Monitor then.
func (m *Monitor) Run(ctx context.Context) {
	r := &run{Monitor: m, alarms: raiser.New(m.target)}
	r.alarms.Run(ctx, m.log, "engine", false, r.step)
	r.alarms.Leave(context.WithoutCancel(ctx)) // another engine goes on
}

// run is one Run.
type run struct {
	*Monitor
	alarms *raiser.Raiser
}

func (r *run) step(ctx context.Context) error {
	lost, alive := r.plant.Lost(), r.plant.Alive()
	for i := range lost {
		if err := r.look(ctx, &lost[i], slices.Contains(alive, lost[i].Engine)); err != nil {
			return err
		}
	}
	return nil
}

// look brings the alarm of a loss up to date. back reports that the engine runs.
func (r *run) look(ctx context.Context, l *cluster.Loss, back bool) error {
	key := LostKey + l.Engine
	if r.alarms.Pending(key) {
		return nil
	}
	c, err := r.target.Condition(ctx, alarms.ByKey(key))
	if err != nil && !errors.Is(err, alarms.ErrAlarmNotFound) {
		return err
	}
	switch last := c.Last; {
	case last == nil || last.Labels[LabelSession] != l.ID:
		if last != nil && last.Active { // of an earlier loss
			r.alarms.Clear(key, "", l.At)
		}
		r.alarms.Raise(r.alarm(key, l))
	case !last.Active:
		return r.plant.Forget(ctx, l.ID)
	case back:
		r.alarms.Clear(key, "", r.now())
	case last.Acknowledged() && r.alarms.At(r.now()).Sub(last.AcknowledgedAt) >= r.goneAfter:
		r.alarms.Clear(key, "the engine has not come back since this was acknowledged", r.now())
	}
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
		Key: key, ID: uuid.Must(uuid.NewV7()).String(), Source: name, SourceType: "Equipment", Message: limits.Clip(message), Severity: r.severity,
		Labels: labels, Cause: alarms.Cause{Instructions: instructions}, At: r.alarms.At(l.At),
	}
}

const instructions = "See whether the engine runs and reaches the database; the other engines have taken over its work, as far as they can do it. " +
	"The alarm ends when the engine is back. If it is not to come back, acknowledge the alarm: it ends a day later."
