package rules_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// see shows a value to one engine.
func (s *shared) see(p *plant, v float64, remote bool) {
	s.seq++
	now := time.Now()
	c := tags.Change{Tag: s.sample.Tag, Sample: tags.Sample{Value: tags.FloatValue(v), Quality: tags.Good, SourceTime: now, ServerTime: now}, Seq: s.seq, Remote: remote}
	p.rules.Observe([]tags.Change{c})
}

// An engine is lost before it has stored that a delay has begun. The next one has seen the values that it has published, one a second.
func TestDelayThatIsNotStoredGoesOnInAnotherEngine(t *testing.T) {
	const delay = 20 * time.Second
	for name, c := range map[string]struct {
		published []float64
		away      time.Duration // from the last of them until the driver is adopted
		first     float64       // value of the next engine
		left      time.Duration // from then until the alarm; negative for none
	}{
		"one value":            {[]float64{70, 90}, 4 * time.Second, 90, delay - 4*time.Second},
		"several values":       {[]float64{70, 90, 99, 85}, 4 * time.Second, 95, delay - 6*time.Second},
		"within the deadband":  {[]float64{70, 90, 79}, 4 * time.Second, 79, delay - 5*time.Second},
		"only in the deadband": {[]float64{70, 79}, 4 * time.Second, 90, delay},
		"normal again":         {[]float64{70, 90, 70}, 4 * time.Second, 90, delay},
		"again beyond":         {[]float64{90, 70, 91}, 4 * time.Second, 90, delay - 4*time.Second},
		"normal when read":     {[]float64{70, 90}, 4 * time.Second, 70, -1},
		"over meanwhile":       {[]float64{70, 90}, 30 * time.Second, 90, 0},
		"long ago":             {[]float64{70, 90}, 2 * time.Minute, 90, delay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.Deadband = delay, 2 }))
				defer s.stop()
				p := s.engines[0]
				for i, v := range c.published {
					if i > 0 {
						pass(time.Second)
					}
					s.see(p, v, true)
				}
				pass(c.away)
				require.NoError(t, p.rules.Adopt(t.Context(), "plc", 2, valid))
				s.see(p, c.published[len(c.published)-1], true) // on its way meanwhile
				require.Empty(t, kinds(t, p.service), "before the next engine has read it")
				s.see(p, c.first, false)
				if c.left < 0 {
					pass(time.Hour)
					require.Empty(t, kinds(t, p.service))
					return
				}
				if c.left > 0 {
					pass(c.left - time.Millisecond)
					require.Empty(t, kinds(t, p.service))
				}
				pass(10 * time.Millisecond)
				require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, p.service))
			})
		})
	}
}

// An engine that loses a driver before it has stored that a delay has begun, and gets it back, continues the delay; and so does the one after it.
func TestDelayThatIsNotStoredGoesOnInTheSameEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
		defer s.stop()
		a, b := s.engines[0], s.engines[1]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(a, 90, false)
		a.rules.Abandon("plc")
		pass(5 * time.Second)
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 2, valid))
		pass(time.Second) // stored
		a.rules.Abandon("plc")
		pass(5 * time.Second)
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 3, valid))
		s.see(b, 91, false)
		requireRaisedAfter(t, b, 9*time.Second)
	})
}

// It has stored a delay that was over before it could store that.
func TestDelayThatIsOverDoesNotGoOnInTheSameEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
		defer s.stop()
		a := s.engines[0]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(a, 90, false)
		pass(50 * time.Millisecond) // stored, and the next is not as soon
		s.see(a, 70, false)
		pass(50 * time.Millisecond)
		s.see(a, 90, false)
		a.rules.Abandon("plc")
		pass(5 * time.Second)
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(a, 91, false)
		requireRaisedAfter(t, a, 15*time.Second)
	})
}

// An alarm that could not be stored is due at once when its engine gets the driver back, whatever its on-delay.
func TestAlarmThatIsNotStoredIsDueInTheSameEngine(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.OnDelay = delay }))
			defer s.stop()
			a := s.engines[0]
			require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
			s.see(a, 70, false)
			pass(time.Second)
			var lost atomic.Bool
			a.rules.Abandon("plc")
			require.NoError(t, a.rules.Adopt(t.Context(), "plc", 2, func() bool { return !lost.Load() }))
			s.store.broken.Store(true)
			s.see(a, 90, false)
			pass(delay + time.Second)
			lost.Store(true)
			a.rules.Abandon("plc")
			s.store.broken.Store(false)
			pass(3 * time.Second)
			require.NoError(t, a.rules.Adopt(t.Context(), "plc", 3, valid))
			require.Empty(t, kinds(t, a.service))
			s.see(a, 91, false)
			pass(100 * time.Millisecond)
			require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, a.service))
		})
	}
}

// An alarm that somebody has cleared is not due when its driver moves.
func TestAlarmThatWasClearedBeginsItsDelayAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 5 * time.Second }))
		defer s.stop()
		a, b := s.engines[0], s.engines[1]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(a, 90, false)
		s.see(b, 90, true)
		pass(10 * time.Second)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, b.service))
		_, err := b.service.Apply(t.Context(), []alarms.Signal{{Key: "rule:r", Reset: true}})
		require.NoError(t, err)
		require.NoError(t, a.rules.Yield(t.Context(), "plc"))
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(b, 91, false)
		pass(4900 * time.Millisecond)
		require.Len(t, kinds(t, b.service), 2)
		pass(200 * time.Millisecond)
		require.Len(t, kinds(t, b.service), 3)
	})
}

// What an engine shows of a tag whose owner is not heard does not tell that a condition is over.
func TestDelaysGoOnWhileTheirOwnerIsNotHeard(t *testing.T) {
	for name, c := range map[string]struct {
		kind    rules.Kind
		quality tags.Quality
		reason  tags.Reason
	}{
		"High":       {rules.High, tags.Good, tags.ReasonNone},
		"BadQuality": {rules.BadQuality, tags.Bad, tags.ReasonDevice},
		"Stale":      {rules.Stale, tags.Uncertain, tags.ReasonStale},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := share(t, 1, rule(c.kind, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
				defer s.stop()
				p := s.engines[0]
				see := func(q tags.Quality, reason tags.Reason, remote bool) {
					s.seq++
					now := time.Now()
					p.rules.Observe([]tags.Change{{Tag: s.sample.Tag, Seq: s.seq, Remote: remote, Degraded: reason == tags.ReasonEngine,
						Sample: tags.Sample{Value: tags.FloatValue(90), Quality: q, Reason: reason, SourceTime: now, ServerTime: now}}})
				}
				see(c.quality, c.reason, true)
				pass(3 * time.Second)
				see(tags.Uncertain, tags.ReasonEngine, true)
				pass(time.Second)
				require.NoError(t, p.rules.Adopt(t.Context(), "plc", 2, valid))
				see(c.quality, c.reason, false)
				pass(16*time.Second - time.Millisecond)
				require.Empty(t, kinds(t, p.service))
				pass(10 * time.Millisecond)
				require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, p.service))
			})
		})
	}
}
