package rules

import (
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/tags"

	"github.com/otkit/otkit/alarms"
)

const ruleKey = "rule:"

// evaluation is the state of a rule. It is guarded by the mutex of the Service.
type evaluation struct {
	rule     Rule
	message  message
	labels   map[string]string
	tag      *watch
	setpoint *watch
	outage   *outage // nil if nothing of an outage is known
	replay   *replay // of a replay only

	phase     Phase
	since     time.Time // when the phase began
	over      bool      // result of the last evaluation
	confirmed bool      // evaluated since the phase was restored
	known     bool      // the current samples could be evaluated
	beyond    reading   // the last one beyond the limit, which the deadband and a delay outlast
	idle      bool      // another service evaluates the rule, or will; see Adopt
	doubt     bool      // another service cleared the alarm while nothing could be evaluated here

	match     map[tags.Value]struct{} // States as values
	matchType tags.DataType           // of match

	points []point // for RateOfChange

	deadline time.Time // when the delay of the phase ends; zero for none
	recheck  time.Time // when the rate changes by itself; zero for never
	due      time.Time // the earlier of the two
	timer    int       // index in timers; -1 for none

	unsaved bool

	heard time.Time    // since when the condition is true by what was seen before another service evaluated the rule, or of it; zero if it is not
	seen  [2]time.Time // when it was false last, and when true, of what another service has published, by that service
	deaf  bool         // something may have been missed since heard
	own   uint64       // epoch in which heard was evaluated here, see Adopt; zero if another service has published it

	began  time.Time // when the condition became true, by the source; of the phases except PhaseNormal
	turned time.Time // when it became false again, by the source; of PhaseOffDelay
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
	e := &evaluation{rule: rule, message: m, phase: PhaseNormal, timer: -1, deaf: true, labels: map[string]string{"ruleId": rule.ID}}
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
	case raised && kept.Phase == PhaseOffDelay && !e.seen[1].After(kept.Since):
		e.phase, e.since, e.turned = PhaseOffDelay, kept.Since, kept.Since
	case raised:
		e.phase = PhaseActive
	case kept.Phase == PhaseOnDelay && !e.seen[0].After(kept.Since):
		e.phase, e.since = PhaseOnDelay, kept.Since
	case kept.Phase == PhaseActive, kept.Phase == PhaseOffDelay: // somebody has cleared the alarm
	case kept.Since.After(e.seen[1]): // it was normal later
	case e.rule.OnDelay > 0 && !e.heard.IsZero() && now.Sub(e.heard) < e.rule.OnDelay+heardFor:
		e.phase, e.since = PhaseOnDelay, e.heard
	}
	e.heard, e.began = time.Time{}, time.Time{}
	e.over = e.phase == PhaseActive || e.phase == PhaseOnDelay
	if e.phase != PhaseNormal { // the process did not run, which is an outage too
		e.outage = &outage{forks: []*evaluation{e.fork()}}
	}
}

// restore is evaluation.restore, unless signals are pending: what is stored is older. The lock is held.
func (r *Service) restore(e *evaluation, kept State, raised bool, now time.Time) {
	if r.pending(e.rule.ID) {
		kept, e.heard = State{}, time.Time{}
		e.touch(r)
	}
	if e.own != 0 && r.adoptionOf(e).epoch > e.own+1 { // another service has evaluated it since, and was not heard
		e.heard = time.Time{}
	}
	e.restore(kept, raised, now)
	// Another service may have to continue the delay.
	if delayed := e.phase == PhaseOnDelay; delayed != (kept.Phase == PhaseOnDelay) || delayed && !e.since.Equal(kept.Since) {
		e.touch(r)
	}
}

// Observe evaluates changes. Pass it to tags.Engine.Observe. It never waits for a store.
func (r *Service) Observe(changes []tags.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for i := range changes {
		c := &changes[i]
		w := r.watches[c.Tag.Name]
		if c.Late {
			r.observeLate(w, c, now)
			continue
		}
		if w == nil || c.Seq < w.seq { // changes of one tag can arrive out of order
			continue
		}
		w.seq = c.Seq
		gone := lostBy(c)
		if gone || w.gone() {
			w.watchLink(gone, now)
		}
		before := w.at
		w.take(&c.Sample)
		w.lost, w.def, w.foreign = gone, c.Tag, c.Remote
		if w.rates {
			w.offset = offset(c.Time().Sub(now))
		}
		r.sample = c
		if r.drivers != nil {
			r.share(w, now)
		}
		for _, e := range w.rules {
			if e.idle {
				e.hear(c, now)
				continue
			}
			if e.outage != nil {
				e.outage.observe(e, w, c, before)
			}
			r.evaluate(e, now)
		}
		r.sample = nil
	}
}

// at returns the time of an evaluation by the source.
func (r *Service) at(e *evaluation, now time.Time) time.Time {
	switch {
	case e.replay != nil:
		return now
	case r.sample != nil:
		return r.sample.Time()
	}
	return now.Add(e.tag.offset)
}

// offset returns how far the clock of a source is ahead, from how far a sample is that has just come. A little is its way.
func offset(ahead time.Duration) time.Duration {
	if ahead.Abs() <= time.Minute {
		return 0
	}
	return ahead
}

// evaluate evaluates the current samples of a rule and updates its phase.
func (r *Service) evaluate(e *evaluation, now time.Time) {
	// What another engine saw before the driver came here may be old.
	if e.idle || e.tag.foreign && e.tag.reason != tags.ReasonRemoved {
		return
	}
	r.judge(e, now)
	if r.timers.set(e) {
		poke(r.wake)
	}
}

// judge is evaluate without the timer.
func (r *Service) judge(e *evaluation, now time.Time) {
	if !e.deadline.IsZero() && !e.deadline.After(now) {
		r.expire(e)
	}
	over, known := e.violated(now)
	e.known = known
	switch {
	case known:
		e.over = over
		r.step(e, now)
	case e.tag.reason == tags.ReasonRemoved && e.replay == nil:
		r.endRemoved(e, now)
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
		over = e.exceeds(rate)
		return over, over || whole
	}
	if !w.numeric {
		return false, false
	}
	switch rule.Kind {
	case Low, LowLow:
		return e.outside(w.number < rule.Limit, w.number < rule.Limit+rule.Deadband), true
	case Deviation:
		sp := rule.Setpoint
		if e.setpoint != nil {
			if !e.setpoint.numeric {
				return false, false
			}
			sp = e.setpoint.number
		}
		return e.exceeds(math.Abs(w.number - sp)), true
	}
	return e.exceeds(w.number), true
}

// exceeds reports whether a number is above the limit, or not far enough below it to be normal again.
func (e *evaluation) exceeds(n float64) bool {
	return e.outside(n > e.rule.Limit, n > e.rule.Limit-e.rule.Deadband)
}

// outside reports whether a reading is beyond the limit, or was and is within the deadband still.
func (e *evaluation) outside(beyond, within bool) bool {
	if beyond {
		e.beyond = reading{value: e.tag.value}
		if e.setpoint != nil {
			e.beyond.setpoint = e.setpoint.value
		}
	}
	return beyond || e.over && within
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
	if e.began.IsZero() { // current samples have come again
		e.began = e.newest()
	}
	switch {
	case e.phase == PhaseNormal && e.over:
		e.began = r.at(e, now)
		if e.rule.OnDelay > 0 {
			r.move(e, PhaseOnDelay, now)
			e.deadline = now.Add(e.rule.OnDelay)
		} else {
			r.raise(e, now)
		}
	case e.phase == PhaseOnDelay && !e.over:
		r.move(e, PhaseNormal, now)
	case e.phase == PhaseActive && !e.over:
		e.turned = r.at(e, now)
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
	if by := r.adoptionOf(e); !by.stands() { // whoever has adopted it ends the delay
		e.deadline = time.Time{}
		return
	}
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
	if e.replay != nil {
		e.replay.raised = e.alarm(at).Raise
		return
	}
	r.transit(e, e.alarm(at))
	if e.began.IsZero() { // by the end of a delay
		e.began = e.newest()
	}
	if e.gone() { // by the end of a delay, or because the connection was lost
		e.tellSpan(e.newest(), true)
	}
}

func (r *Service) clear(e *evaluation, at time.Time) {
	r.move(e, PhaseNormal, at)
	if e.replay != nil {
		r.endReplayed(e, at)
		return
	}
	r.transit(e, alarms.Signal{At: at})
	if !e.gone() {
		e.tellSpan(e.turned, false)
	}
}

// endRemoved ends the alarm or the delay of a rule whose tag was removed.
func (r *Service) endRemoved(e *evaluation, at time.Time) {
	if e.phase == PhaseActive || e.phase == PhaseOffDelay {
		r.transit(e, alarms.Signal{At: at, Comment: commentTagRemoved})
		if r.pollInterval > 0 {
			r.ended = e.rule.ID
		}
	}
	if e.phase != PhaseNormal {
		r.move(e, PhaseNormal, at)
	}
	e.over, e.outage = false, nil
	delete(r.replaying, e)
}

// alarm returns the signal that raises the alarm.
func (e *evaluation) alarm(at time.Time) alarms.Signal {
	return alarms.Signal{At: at, Raise: &alarms.Alarm{
		Key: e.rule.Key(), ID: uuid.Must(uuid.NewV7()).String(), Source: e.rule.Tag, SourceType: "Sensor", Message: e.text(), Severity: e.rule.Severity,
		Latching: e.rule.Latching, Labels: e.labels, At: at, Cause: e.cause(),
	}}
}
