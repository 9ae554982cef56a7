package rules

import (
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
)

// replay is what an evaluation needs that judges late samples by their own times. It raises no alarm while one is active,
// but an occurrence that is over when it ends.
type replay struct {
	of        *evaluation   // of the current samples
	raised    *alarms.Alarm // begin of the occurrence; nil for none, or if it is inherited
	inherited bool          // current samples have raised the alarm
	clock     time.Time     // of the samples so far
	tracks    [2]track      // of the tag, and of the setpoint's
	regained  time.Time     // when current samples came again after this state; zero if they have not
}

// track is the samples of one tag of a replay.
type track struct {
	seen  recent    // times of late samples
	ahead time.Time // earliest time of the current samples since the newest late one; zero for none
}

// track returns the track of a tag of the rule.
func (p *replay) track(e *evaluation, w *watch) *track {
	if w != e.tag {
		return &p.tracks[1]
	}
	return &p.tracks[0]
}

// lateSource is a driver that has delivered late samples.
type lateSource struct {
	driver string
	last   time.Time // when the last one came
}

// replayIdle is how long no late sample comes from a driver until what it has delivered is complete.
const replayIdle = 10 * time.Second

// observeLate evaluates a late sample. w is nil for a tag without rules.
func (r *Service) observeLate(w *watch, c *tags.Change, now time.Time) {
	source := r.lateSource
	if source == nil || source.driver != c.Tag.Driver {
		if source = r.lateSources[c.Tag.Driver]; source == nil {
			source = &lateSource{driver: c.Tag.Driver}
			r.lateSources[c.Tag.Driver] = source
		}
		r.lateSource = source
	}
	source.last = now
	if w == nil {
		return
	}
	w.source = source
	for _, e := range w.rules {
		if !e.idle {
			r.replay(e, w, c, now)
		}
	}
}

// replay evaluates a late sample for a rule.
func (r *Service) replay(e *evaluation, w *watch, c *tags.Change, now time.Time) {
	at := c.SourceTime
	o := e.needOutage()
	s := o.replay
	// Late samples come in the order of the source. So a current sample that came since the last one, and is older than
	// this one, was not overtaken: the replay had reached the current samples, and begins again.
	if s != nil {
		if next := s.replay.passed(e, w, at); !next.IsZero() {
			r.finishReplay(e, s, next)
			s = nil
		} else {
			s.replay.track(e, w).ahead = time.Time{}
		}
	}
	if s == nil {
		s = e.startReplay(at)
		o.keepOther(e, w, s)
		o.replay = s
		if len(r.replaying) == 0 {
			poke(r.wake)
		}
		r.replaying[e] = struct{}{}
	}
	own := s.tag
	if w != e.tag {
		own = s.setpoint
	}
	switch s.replay.track(e, w).seen.take(at) {
	case timeRepeated:
		if own.value == c.Value && own.quality == c.Quality || !own.at.Equal(at) {
			return
		}
	case timeSkipped:
		return
	case timeSetBack:
		s.setBack(at)
	}
	if at.After(s.replay.clock) {
		s.replay.clock = at
	}
	r.advance(s, s.replay.clock)
	own.take(&c.Sample)
	own.def = c.Tag
	s.syncOthers(e)
	r.judge(s, s.replay.clock)
	if r.reached(e, s) {
		r.advance(s, now)
		r.adopt(e, s, now)
		if n := len(s.points); n > 0 && !s.points[n-1].at.After(now) { // a whole window is known again
			e.points = append(e.points[:0], s.points...)
			r.evaluate(e, now)
		}
	}
}

// orderSlack is how far the times of different tags may be out of order.
const orderSlack = time.Second

// passed returns the time of a current sample that a late sample of w shows to be not overtaken, zero for none.
func (p *replay) passed(e *evaluation, w *watch, at time.Time) time.Time {
	if ahead := p.track(e, w).ahead; !ahead.IsZero() && ahead.Before(at) {
		return ahead
	}
	for _, other := range []*watch{e.tag, e.setpoint} {
		if other == nil || other == w || other.def == nil || other.def.Driver != w.source.driver {
			continue
		}
		if ahead := p.track(e, other).ahead; !ahead.IsZero() && ahead.Before(at.Add(-orderSlack)) {
			return ahead
		}
	}
	return time.Time{}
}

// keepOther keeps the late sample of the other tag of a rule when its replay begins again.
func (o *outage) keepOther(e *evaluation, w *watch, s *evaluation) {
	if o.replay == nil || e.setpoint == nil || e.setpoint == e.tag {
		return
	}
	from, to := o.replay.tag, s.tag
	if w == e.tag {
		from, to = o.replay.setpoint, s.setpoint
	}
	if from.at.After(to.at) && !from.at.Before(s.replay.clock) {
		to.copy(from)
	}
}

// startReplay returns the state of the rule before a time.
func (e *evaluation) startReplay(at time.Time) *evaluation {
	o := e.outage
	var s *evaluation
	n := 0
	for _, f := range o.forks {
		if f.replay.clock.After(at) {
			break
		}
		n++
		if f.replay.regained.IsZero() || !f.replay.regained.Before(at) {
			s = f
		}
	}
	o.forks = append(o.forks[:0], o.forks[n:]...)
	switch {
	case s != nil:
		return s
	case !e.gone() && e.newest().Before(at):
		return e.fork()
	}
	s = e.fork()
	s.phase, s.over, s.points, s.deadline, s.recheck = PhaseNormal, false, nil, time.Time{}, time.Time{}
	for _, w := range []*watch{s.tag, s.setpoint} {
		if w != nil && !w.at.Before(at) {
			*w = watch{name: w.name}
		}
	}
	s.replay.clock, s.replay.inherited = time.Time{}, e.told(at, at)
	if s.replay.inherited {
		s.phase, s.over, s.began = PhaseActive, true, at
	}
	return s
}

// syncOthers takes the current sample of a tag that has no late ones, such as a setpoint of another driver.
func (e *evaluation) syncOthers(live *evaluation) {
	if live.setpoint == nil || live.setpoint == live.tag {
		return
	}
	for _, pair := range [][2]*watch{{e.tag, live.tag}, {e.setpoint, live.setpoint}} {
		if pair[1].source == nil && pair[1].known && !pair[1].at.After(e.replay.clock) {
			pair[0].copy(pair[1])
		}
	}
}

// advance ends delays until a time, and evaluates a rate that changes by itself.
func (r *Service) advance(s *evaluation, until time.Time) {
	for {
		at, rate := s.deadline, false
		if at.IsZero() || !s.recheck.IsZero() && s.recheck.Before(at) {
			at, rate = s.recheck, true
		}
		switch {
		case at.IsZero() || at.After(until):
			return
		case !rate:
			r.expire(s)
		default:
			s.recheck = time.Time{}
			r.judge(s, at)
		}
	}
}

// endReplayed raises an occurrence that is over, unless current samples have raised it.
func (r *Service) endReplayed(s *evaluation, at time.Time) {
	p := s.replay
	a, inherited := p.raised, p.inherited
	p.raised, p.inherited = nil, false
	if a != nil && !inherited && !p.of.told(s.began, s.turned) {
		r.queueLate(p.of.rule.ID, a, at)
	}
}

// reached reports whether a replay has reached the current samples of the rule, also those that were not reported because
// they did not differ.
func (r *Service) reached(e, s *evaluation) bool {
	if e.gone() || e.newest().After(s.replay.clock) {
		return false
	}
	for _, w := range []*watch{e.tag, e.setpoint} {
		if w == nil || r.current == nil {
			continue
		}
		if now, ok := r.current(w.name); ok && now.Sample.SourceTime.After(s.replay.clock) {
			return false
		}
	}
	return true
}

// adopt makes a replay that has reached the current samples the state of the rule: it has seen what they have not.
func (r *Service) adopt(e, s *evaluation, now time.Time) {
	switch {
	case s.phase == PhaseNormal:
		// An off-delay of current samples began when they came again. That of the replay has ended.
		late := e.phase == PhaseOffDelay && !e.rule.ofQuality()
		if !e.outage.adopted && e.known && !late {
			return
		}
		e.over, e.turned = false, s.turned
		if e.alarming() {
			r.clear(e, now)
		} else if e.phase == PhaseOnDelay {
			r.move(e, PhaseNormal, now)
		}
	case s.phase == PhaseOnDelay:
		due := earlier(s.deadline, now.Add(e.rule.OnDelay))
		if e.phase != PhaseNormal && (e.phase != PhaseOnDelay || !e.deadline.IsZero() && !due.Before(e.deadline)) {
			return
		}
		r.move(e, PhaseOnDelay, due.Add(-e.rule.OnDelay))
		e.over, e.began, e.deadline, e.outage.adopted = true, s.began, due, true
	case e.alarming():
		s.replay.inherited = true
		switch {
		case s.phase == PhaseActive && e.phase == PhaseOffDelay:
			r.move(e, PhaseActive, now)
		case s.phase == PhaseOffDelay && e.phase == PhaseActive && !e.known:
			r.followOffDelay(e, s, now)
		default:
			e.over = e.over || s.over
			return
		}
		e.over = s.over
	case s.replay.raised == nil || s.replay.inherited || e.told(s.began, now):
		return
	default:
		a := s.replay.raised
		r.move(e, PhaseActive, earlier(a.At, now))
		r.transit(e, alarms.Signal{At: a.At, Raise: a})
		if s.phase == PhaseOffDelay {
			r.followOffDelay(e, s, now)
		}
		e.over, e.began, e.outage.adopted = s.over, s.began, true
		s.replay.inherited = true
	}
	e.confirmed = true
	if r.timers.set(e) {
		poke(r.wake)
	}
}

// followOffDelay begins the off-delay of a replay.
func (r *Service) followOffDelay(e, s *evaluation, now time.Time) {
	r.move(e, PhaseOffDelay, earlier(s.turned, now))
	e.turned, e.deadline = s.turned, earlier(s.deadline, now.Add(e.rule.OffDelay))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// finishReplay ends a replay after which current samples came, of which the first had a time, zero for none. What is
// still true belongs to them.
func (r *Service) finishReplay(e, s *evaluation, next time.Time) {
	if next.After(s.replay.clock) {
		r.advance(s, next)
		if s.phase == PhaseActive && !e.alarming() {
			s.over = false
			r.step(s, next)
		}
	}
	if s.phase == PhaseOffDelay {
		r.expire(s)
	}
}

// finishIdle ends the replays whose samples have all come, and returns when to look again. The lock is held.
func (r *Service) finishIdle(now time.Time) time.Duration {
	const interval = replayIdle / 10
	switch left := r.idleCheck.Sub(now); {
	case len(r.replaying) == 0:
		return time.Minute
	case left > 0 && left <= interval:
		return left
	}
	r.idleCheck = now.Add(interval)
	for e := range r.replaying {
		source := e.tag.source
		if source == nil || e.setpoint != nil && e.setpoint.source != nil && e.setpoint.source.last.After(source.last) {
			source = e.setpoint.source
		}
		if source.last.After(now) { // the clock was set back
			source.last = now
		}
		if now.Sub(source.last) < replayIdle || e.gone() {
			continue
		}
		s := e.outage.replay
		next := s.replay.tracks[0].ahead
		if next.IsZero() {
			next = e.tag.at
		}
		r.finishReplay(e, s, next)
		e.outage.replay = nil
		delete(r.replaying, e)
	}
	return interval
}

// setBack moves the state to the time of a sample after the clock of the source was set back, so that delays continue.
func (e *evaluation) setBack(at time.Time) {
	by := at.Sub(e.replay.clock)
	times := []*time.Time{&e.since, &e.began, &e.turned, &e.deadline, &e.recheck, &e.replay.clock}
	for i := range e.points {
		times = append(times, &e.points[i].at)
	}
	if e.replay.raised != nil {
		times = append(times, &e.replay.raised.At)
	}
	for _, t := range times {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	e.replay.tracks = [2]track{}
}
