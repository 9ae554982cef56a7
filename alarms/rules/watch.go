package rules

import (
	"time"

	"github.com/otkit/otkit/tags"
)

// watch is the newest sample of a tag that has rules.
type watch struct {
	name    string
	rules   []*evaluation
	known   bool
	value   tags.Value
	def     *tags.Tag // nil if it is not known
	number  float64
	numeric bool // the value is a number whose quality is not Bad
	quality tags.Quality
	reason  tags.Reason
	at      time.Time     // by the source
	seq     uint64        // of the newest change
	lost    bool          // the engine has no connection
	foreign bool          // the newest sample is of another engine, see tags.Change.Remote
	rates   bool          // a rule is of the kind RateOfChange
	offset  time.Duration // of the clock of the source to this one, if rates
	source  *lateSource   // of the late samples; nil if there were none
}

func (w *watch) take(s *tags.Sample) {
	w.known = true
	w.value, w.quality, w.reason, w.at = s.Value, s.Quality, s.Reason, s.SourceTime
	w.number, w.numeric = s.Value.Float()
	w.numeric = w.numeric && s.Quality != tags.Bad
}

func (w *watch) unit() string {
	if w.def == nil {
		return ""
	}
	return w.def.Unit
}

func (w *watch) drop(e *evaluation) {
	for i, x := range w.rules {
		if x == e {
			w.rules = append(w.rules[:i:i], w.rules[i+1:]...)
			return
		}
	}
}

// gone reports whether no current samples of the tag come.
func (w *watch) gone() bool { return !w.known || w.lost }

// lostBy reports whether the engine has noticed that no current samples come. A device that its bridge cannot reach is
// reported by a sample of the bridge, and is no loss here.
func lostBy(c *tags.Change) bool { return c.Degraded && lostFor(c.Reason) }

func lostFor(reason tags.Reason) bool {
	return reason == tags.ReasonNotConnected || reason == tags.ReasonNoDriver || reason == tags.ReasonWaiting
}

// copy takes the sample of another watch.
func (w *watch) copy(from *watch) {
	w.name, w.known, w.value, w.def, w.number, w.numeric = from.name, from.known, from.value, from.def, from.number, from.numeric
	w.quality, w.reason, w.at = from.quality, from.reason, from.at
}
