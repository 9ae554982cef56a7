package rules

import (
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/tags"

	"github.com/otkit/otkit/alarms"
)

const ruleKey = "rule:"

// watch is the newest sample of a tag that has rules.
type watch struct {
	name    string
	rules   []*evaluation
	known   bool
	value   tags.Value
	unit    string
	number  float64
	numeric bool // the value is a number whose quality is not Bad
	quality tags.Quality
	reason  tags.Reason
	at      time.Time // by the source
	seq     uint64    // of the newest change
}

func (w *watch) take(s *tags.Sample) {
	w.known = true
	w.value, w.quality, w.reason, w.at = s.Value, s.Quality, s.Reason, s.SourceTime
	w.number, w.numeric = s.Value.Float()
	w.numeric = w.numeric && s.Quality != tags.Bad
}

func (w *watch) drop(e *evaluation) {
	for i, x := range w.rules {
		if x == e {
			w.rules = append(w.rules[:i:i], w.rules[i+1:]...)
			return
		}
	}
}

// evaluation is the state of a rule. It is guarded by the mutex of the Service.
type evaluation struct {
	rule     Rule
	message  message
	labels   map[string]string
	tag      *watch
	setpoint *watch

	phase     Phase
	since     time.Time // when the phase began
	over      bool      // result of the last evaluation
	confirmed bool      // evaluated since the phase was restored
	known     bool      // the current samples could be evaluated
	doubt     bool      // another service cleared the alarm while nothing could be evaluated here

	match     map[tags.Value]struct{} // States as values
	matchType tags.DataType           // of match

	points []point // for RateOfChange

	deadline time.Time // when the delay of the phase ends; zero for none
	recheck  time.Time // when the rate changes by itself; zero for never
	due      time.Time // the earlier of the two
	timer    int       // index in timers; -1 for none

	unsaved bool
}

func newEvaluation(rule Rule) (*evaluation, error) {
	if err := rule.Validate(); err != nil {
		return nil, err
	}
	rule = rule.clone()
	text := rule.Message
	if text == "" {
		text = rule.defaultMessage()
	}
	m, err := compileMessage(text)
	if err != nil {
		return nil, err
	}
	e := &evaluation{rule: rule, message: m, phase: PhaseNormal, timer: -1, labels: map[string]string{"ruleId": rule.ID}}
	if rule.Group != "" {
		e.labels["group"] = rule.Group
	}
	return e, nil
}

// restore sets the phase of a rule after a restart. The alarm takes precedence over the stored state, which is stored
// after it.
func (e *evaluation) restore(kept State, raised bool, now time.Time) {
	e.phase, e.since = PhaseNormal, now
	switch {
	case raised && kept.Phase == PhaseOffDelay:
		e.phase, e.since = PhaseOffDelay, kept.Since
	case raised:
		e.phase = PhaseActive
	case kept.Phase == PhaseOnDelay:
		e.phase, e.since = PhaseOnDelay, kept.Since
	}
	e.over = e.phase == PhaseActive || e.phase == PhaseOnDelay
}

// Observe evaluates changes. Pass it to tags.Engine.Observe. It never waits for a store.
func (r *Service) Observe(changes []tags.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for i := range changes {
		c := &changes[i]
		w := r.watches[c.Tag.Name]
		// Late values are not current, and changes of one tag can arrive out of order.
		if w == nil || c.Late || c.Seq < w.seq {
			continue
		}
		w.seq = c.Seq
		w.take(&c.Sample)
		w.unit = c.Tag.Unit
		for _, e := range w.rules {
			r.evaluate(e, now)
		}
	}
}

// evaluate evaluates the current samples of a rule and updates its phase.
func (r *Service) evaluate(e *evaluation, now time.Time) {
	if !e.deadline.IsZero() && !e.deadline.After(now) {
		r.expire(e)
	}
	over, known := e.violated(now)
	e.known = known
	switch {
	case known:
		e.over = over
		r.step(e, now)
	case e.tag.reason == tags.ReasonRemoved:
		r.endRemoved(e, now)
	}
	if r.timers.set(e) {
		poke(r.wake)
	}
}

// violated reports whether the condition of the rule is true, and whether that is known.
func (e *evaluation) violated(now time.Time) (over, known bool) {
	w, rule := e.tag, &e.rule
	switch rule.Kind {
	case BadQuality:
		return w.quality == tags.Bad, w.reason != tags.ReasonWaiting && w.reason != tags.ReasonRemoved
	case Stale:
		stale := w.quality != tags.Good && w.reason == tags.ReasonStale
		return stale, stale || w.quality != tags.Bad
	case Discrete:
		return e.matches(), w.quality != tags.Bad && !w.value.IsZero()
	case RateOfChange:
		if !w.numeric {
			e.points, e.recheck = nil, time.Time{}
			return false, false
		}
		rate, whole := e.rate(now)
		over = e.beyond(rate)
		return over, over || whole
	}
	if !w.numeric {
		return false, false
	}
	switch rule.Kind {
	case Low, LowLow:
		return w.number < rule.Limit || e.over && w.number < rule.Limit+rule.Deadband, true
	case Deviation:
		sp := rule.Setpoint
		if e.setpoint != nil {
			if !e.setpoint.numeric {
				return false, false
			}
			sp = e.setpoint.number
		}
		return e.beyond(math.Abs(w.number - sp)), true
	}
	return e.beyond(w.number), true
}

// beyond reports whether a number is above the limit, or not far enough below it to be normal again.
func (e *evaluation) beyond(n float64) bool {
	return n > e.rule.Limit || e.over && n > e.rule.Limit-e.rule.Deadband
}

// matches reports whether the value is one of the states of the rule.
func (e *evaluation) matches() bool {
	t := e.tag.value.Type()
	if e.matchType != t {
		e.match, e.matchType = make(map[tags.Value]struct{}, len(e.rule.States)), t
		for _, text := range e.rule.States {
			if v, err := tags.ParseValue(t, text); err == nil {
				e.match[v] = struct{}{}
			}
		}
	}
	_, ok := e.match[e.tag.value]
	return ok
}

// step updates a rule's phase after an evaluation.
func (r *Service) step(e *evaluation, now time.Time) {
	first := !e.confirmed
	e.confirmed = true
	switch {
	case e.phase == PhaseNormal && e.over:
		if e.rule.OnDelay > 0 {
			r.move(e, PhaseOnDelay, now)
			e.deadline = now.Add(e.rule.OnDelay)
		} else {
			r.raise(e, now)
		}
	case e.phase == PhaseOnDelay && !e.over:
		r.move(e, PhaseNormal, now)
	case e.phase == PhaseActive && !e.over:
		if e.rule.OffDelay > 0 {
			r.move(e, PhaseOffDelay, now)
			e.deadline = now.Add(e.rule.OffDelay)
		} else {
			r.clear(e, now)
		}
	case e.phase == PhaseOffDelay && e.over:
		r.move(e, PhaseActive, now)
	case e.phase == PhaseActive && e.doubt:
		r.raise(e, now)
	case first && (e.phase == PhaseOnDelay || e.phase == PhaseOffDelay):
		r.resume(e, now)
	}
	e.doubt = false
}

// resume continues a restored delay, after a value has confirmed it. It ends when it would have ended; a clock that was
// set back does not extend it.
func (r *Service) resume(e *evaluation, now time.Time) {
	delay := e.rule.OnDelay
	if e.phase == PhaseOffDelay {
		delay = e.rule.OffDelay
	}
	left := min(max(delay-now.Sub(e.since), 0), delay)
	e.deadline = now.Add(left)
	if left == 0 {
		r.expire(e)
	}
}

// expire ends the delay of a rule at its deadline.
func (r *Service) expire(e *evaluation) {
	at := e.deadline
	switch e.phase {
	case PhaseOnDelay:
		r.raise(e, at)
	case PhaseOffDelay:
		r.clear(e, at)
	}
	e.deadline = time.Time{}
}

// move changes the phase of a rule.
func (r *Service) move(e *evaluation, p Phase, now time.Time) {
	e.phase, e.since, e.deadline = p, now, time.Time{}
	e.touch(r)
}

func (r *Service) raise(e *evaluation, at time.Time) {
	r.move(e, PhaseActive, at)
	r.transit(e, e.alarm(at))
}

func (r *Service) clear(e *evaluation, at time.Time) {
	r.move(e, PhaseNormal, at)
	r.transit(e, alarms.Signal{At: at})
}

// endRemoved ends the alarm or the delay of a rule whose tag was removed.
func (r *Service) endRemoved(e *evaluation, at time.Time) {
	if e.phase == PhaseActive || e.phase == PhaseOffDelay {
		r.transit(e, alarms.Signal{At: at, Comment: "the tag was removed"})
		if r.pollInterval > 0 {
			r.ended = e.rule.ID
		}
	}
	if e.phase != PhaseNormal {
		r.move(e, PhaseNormal, at)
	}
	e.over = false
}

// alarm returns the signal that raises the alarm.
func (e *evaluation) alarm(at time.Time) alarms.Signal {
	return alarms.Signal{At: at, Raise: &alarms.Alarm{
		Key: e.rule.Key(), ID: uuid.Must(uuid.NewV7()).String(), Source: e.rule.Tag, SourceType: "Sensor", Message: e.text(), Severity: e.rule.Severity,
		Latching: e.rule.Latching, Labels: e.labels, At: at,
	}}
}

// text returns the message with its placeholders replaced.
func (e *evaluation) text() string {
	s := e.message.fill(func(name string) string {
		switch name {
		case "name":
			return e.rule.Name
		case "tag":
			return e.rule.Tag
		case "kind":
			return string(e.rule.Kind)
		case "value":
			return shown(e.tag.value)
		case "unit":
			return e.tag.unit
		case "setpoint":
			if e.setpoint != nil {
				return shown(e.setpoint.value)
			}
			return number(e.rule.Setpoint)
		}
		return number(e.rule.Limit)
	})
	return limits.Clip(s)
}

// shown returns a value for display, a Float with six significant digits.
func shown(v tags.Value) string {
	if f, ok := v.Float(); ok && v.Type() == tags.Float {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return v.String()
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
