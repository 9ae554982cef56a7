package rules

import (
	"time"

	"github.com/otkit/otkit/tags"
)

const (
	maxSpans = 16 // of a rule
	maxForks = 2  // of a rule
)

// outage is what a rule needs to judge late samples. It is guarded by the mutex of the Service.
type outage struct {
	spans   []span        // in which the condition was true and the alarm was raised by current samples, oldest first
	forks   []*evaluation // the states when connections were lost, oldest first
	replay  *evaluation   // of late samples; nil for none
	adopted bool          // the phase comes from the replay, and no current sample came since
}

// span is a time by the source: from the sample that was not normal to the one that was, or to the last one before the
// connection was lost.
type span struct {
	from, to int64 // in nanoseconds since 1970
	cut      bool  // by the loss of the connection
}

// gone reports whether no current samples of a tag of the rule come.
func (e *evaluation) gone() bool {
	return e.tag == nil || e.tag.gone() || e.setpoint != nil && e.setpoint.gone()
}

// newest returns the time of the rule's newest current sample, by the source.
func (e *evaluation) newest() time.Time {
	if e.setpoint != nil && e.setpoint.at.After(e.tag.at) {
		return e.setpoint.at
	}
	return e.tag.at
}

func (e *evaluation) needOutage() *outage {
	if e.outage == nil {
		e.outage = &outage{}
	}
	return e.outage
}

// watchLink notes that the connection of a tag is lost or there again, before the sample that shows it is taken.
func (w *watch) watchLink(gone bool, now time.Time) {
	switch was := w.gone(); {
	case gone && !was:
		for _, e := range w.rules {
			if !e.gone() && !e.idle {
				e.lose()
			}
		}
	case was && !gone:
		if w.source != nil {
			w.source.last = now // a replay continues
		}
		for _, e := range w.rules {
			e.began = time.Time{} // step sets it when something is known
		}
	}
}

// observe notes the time of a current sample; before is that of the one before.
func (o *outage) observe(e *evaluation, w *watch, c *tags.Change, before time.Time) {
	o.adopted = false
	at := c.Time()
	if w.lost || !at.After(before) { // a sample that is sent again after a loss is not new
		return
	}
	for _, f := range o.forks {
		if f.replay.regained.IsZero() {
			f.replay.regained = at
		}
	}
	if o.replay == nil {
		return
	}
	if ahead := &o.replay.replay.track(e, w).ahead; ahead.IsZero() || at.Before(*ahead) {
		*ahead = at
	}
}

// lose keeps the state of a rule whose connection is lost.
func (e *evaluation) lose() {
	if e.phase == PhaseActive || e.phase == PhaseOffDelay {
		e.tellSpan(e.newest(), true)
	}
	if e.phase == PhaseNormal && e.rule.Kind != RateOfChange && e.setpoint == nil {
		return // nothing of it is needed
	}
	o := e.needOutage()
	if len(o.forks) == maxForks {
		o.forks = append(o.forks[:0], o.forks[1:]...)
	}
	o.forks = append(o.forks, e.fork())
}

// tellSpan records that the alarm was raised for a time that ends now. cut reports that the connection was lost.
func (e *evaluation) tellSpan(to time.Time, cut bool) {
	if cut && to.Before(e.began) && e.rule.Kind == RateOfChange { // it began by itself after the last sample
		to = e.began
	}
	if e.began.IsZero() || to.Before(e.began) || to.Equal(e.began) && !cut {
		return
	}
	o := e.needOutage()
	if len(o.spans) == maxSpans {
		if !o.spans[0].cut { // nothing between the two was unseen
			o.spans[1].from = o.spans[0].from
		}
		o.spans = append(o.spans[:0], o.spans[1:]...)
	}
	o.spans = append(o.spans, span{e.began.UnixNano(), to.UnixNano(), cut})
}

// told reports whether current samples have raised the alarm for a part of a time.
func (e *evaluation) told(from, to time.Time) bool {
	if e.alarming() && !e.gone() && !e.began.IsZero() && (to.After(e.began) || from.Equal(e.began)) {
		return true
	}
	if e.outage == nil {
		return false
	}
	begin, end := from.UnixNano(), to.UnixNano()
	for _, s := range e.outage.spans {
		if begin <= s.to && (end > s.from || begin == s.from) {
			return true
		}
	}
	return false
}

// alarming reports whether the alarm is raised.
func (e *evaluation) alarming() bool { return e.phase == PhaseActive || e.phase == PhaseOffDelay }

// keepOutage takes over what the old form of a rule knows of outages.
func (e *evaluation) keepOutage(old *evaluation) {
	e.began, e.turned, e.outage = old.began, old.turned, old.outage
	if e.outage == nil {
		return
	}
	for _, f := range append([]*evaluation{e.outage.replay}, e.outage.forks...) {
		if f != nil {
			f.rule, f.message, f.labels, f.replay.of = e.rule, e.message, e.labels, e
		}
	}
}

// fork returns the state of a rule, with the times of the source, as the begin of a replay.
func (e *evaluation) fork() *evaluation {
	f := &evaluation{
		rule: e.rule, message: e.message, labels: e.labels, tag: &watch{}, phase: e.phase, since: e.since, over: e.over, confirmed: true,
		began: e.began, turned: e.turned, timer: -1, replay: &replay{of: e, inherited: e.alarming()},
	}
	if e.rule.SetpointTag == e.rule.Tag {
		f.setpoint = f.tag
	} else if e.rule.SetpointTag != "" {
		f.setpoint = &watch{}
	}
	if e.tag != nil {
		f.tag.copy(e.tag)
		if f.setpoint != nil && e.setpoint != nil {
			f.setpoint.copy(e.setpoint)
		}
		f.replay.clock = e.newest()
	}
	for _, p := range e.points {
		f.points = append(f.points, point{p.at.Add(e.tag.offset), p.value})
	}
	if !e.recheck.IsZero() {
		f.recheck = e.recheck.Add(e.tag.offset)
	}
	switch e.phase {
	case PhaseOnDelay:
		if f.began.IsZero() {
			f.began = e.since
		}
		f.deadline = f.began.Add(e.rule.OnDelay)
	case PhaseOffDelay:
		f.deadline = e.turned.Add(e.rule.OffDelay)
	}
	return f
}
