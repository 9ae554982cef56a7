package rules_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// An engine that cannot store any more has published that a value was normal for a moment. The delay that it has stored before is over.
func TestDelayThatIsStoredEndsByWhatWasPublishedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 3, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
		defer s.stop()
		a, b, c := s.engines[0], s.engines[1], s.engines[2]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		for _, v := range []float64{70, 90} {
			s.see(a, v, false)
			s.see(b, v, true)
			pass(time.Second)
		}
		a.rules.Abandon("plc")
		s.see(b, 70, true)
		pass(time.Second)
		s.see(b, 90, true)
		pass(4 * time.Second)
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(b, 90, false)
		pass(time.Second)
		b.rules.Abandon("plc")
		require.NoError(t, c.rules.Adopt(t.Context(), "plc", 3, valid)) // it has heard nothing
		s.see(c, 90, false)
		requireRaisedAfter(t, b, 15*time.Second)
	})
}

// The same of an off-delay: the value was beyond the limit again.
func TestOffDelayThatIsStoredEndsByWhatWasPublishedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OffDelay = 20 * time.Second }))
		defer s.stop()
		a, b := s.engines[0], s.engines[1]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		for _, v := range []float64{90, 70} {
			s.see(a, v, false)
			s.see(b, v, true)
			pass(time.Second)
		}
		a.rules.Abandon("plc")
		s.see(b, 90, true)
		pass(time.Second)
		s.see(b, 70, true)
		pass(4 * time.Second)
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(b, 70, false)
		pass(19900 * time.Millisecond)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, b.service))
		pass(200 * time.Millisecond)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, kinds(t, b.service))
	})
}

// What an engine has not heard of while the bus was away may have ended the delay: it is stored by the engine that has seen it.
func TestDelayIsNotHeardAcrossAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
		defer s.stop()
		a, b := s.engines[0], s.engines[1]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(a, 90, false)
		s.see(b, 90, true)
		pass(time.Second)
		s.seeLost(b, tags.FloatValue(90))
		pass(time.Second)
		s.see(a, 70, false)
		pass(20 * time.Second) // stored
		a.rules.Abandon("plc")
		s.see(b, 90, true)
		pass(4 * time.Second)
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(b, 90, false)
		requireRaisedAfter(t, b, 16*time.Second)
	})
}

func (s *shared) observe(p *plant, x tags.Sample, remote bool) {
	s.seq++
	x.SourceTime, x.ServerTime = time.Now(), time.Now()
	p.rules.Observe([]tags.Change{{Tag: s.sample.Tag, Sample: x, Seq: s.seq, Remote: remote}})
}

// seeLost shows that the engine that has published a value is not heard any more.
func (s *shared) seeLost(p *plant, v tags.Value) {
	s.observe(p, tags.Sample{Value: v, Quality: tags.Uncertain, Reason: tags.ReasonEngine}, true)
}
