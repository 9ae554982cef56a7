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

// requireRaisedAfter checks that an alarm is raised when the time has passed, and not before.
func requireRaisedAfter(t *testing.T, p *plant, left time.Duration) {
	t.Helper()
	pass(left - 100*time.Millisecond)
	require.Empty(t, kinds(t, p.service))
	pass(200 * time.Millisecond)
	require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, p.service))
}

// The last value that an engine has published before it gave its driver away arrives after that. It has stored that the delay is over.
func TestDelayThatIsStoredAsOverDoesNotGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
		defer s.stop()
		a, b := s.engines[0], s.engines[1]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(a, 90, false)
		s.see(b, 90, true)
		pass(5 * time.Second)
		s.see(a, 70, false)
		require.NoError(t, a.rules.Yield(t.Context(), "plc"))
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(b, 90, false)
		requireRaisedAfter(t, b, 20*time.Second)
	})
}

// An engine does not continue its own delay after another one has evaluated the rule, of which it has heard nothing.
func TestDelayEndsWithAnOwnerThatIsNotHeard(t *testing.T) {
	for kind, change := range map[rules.Kind]func(*rules.Rule){
		rules.High:         func(r *rules.Rule) { r.OnDelay = 20 * time.Second },
		rules.RateOfChange: func(r *rules.Rule) { r.OnDelay, r.Limit, r.Window = 20*time.Second, 5, 2*time.Second },
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := share(t, 2, rule(kind, change))
				defer s.stop()
				a, b := s.engines[0], s.engines[1]
				require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
				s.see(a, 70, false)
				pass(time.Second)
				s.see(a, 90, false)
				a.rules.Abandon("plc")
				require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
				s.see(b, 70, false)
				pass(5 * time.Second)
				require.NoError(t, b.rules.Yield(t.Context(), "plc"))
				require.NoError(t, a.rules.Adopt(t.Context(), "plc", 3, valid))
				for i := range 24 { // it rises by 20 a second
					s.see(a, 90+20*float64(i), false)
					pass(time.Second)
					if i < 19 {
						require.Empty(t, kinds(t, a.service), i)
					}
				}
				require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, a.service))
			})
		})
	}
}

// An engine that was started later does not know whether a value within the deadband ends the delay: that was stored.
func TestDelayThatIsStoredGoesOnWithinTheDeadband(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.Deadband = 20*time.Second, 2 }))
		defer s.stop()
		a := s.engines[0]
		require.NoError(t, a.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(a, 90, false)
		pass(time.Second)
		b := s.join()
		s.see(a, 79, false)
		s.see(b, 79, true)
		pass(time.Second)
		a.rules.Abandon("plc")
		require.NoError(t, b.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(b, 79, false)
		requireRaisedAfter(t, b, 18*time.Second)
	})
}

// What was heard of a tag that was removed does not count when it is there again.
func TestDelayEndsWithTheTagInAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 20 * time.Second }))
		defer s.stop()
		p := s.engines[0]
		s.see(p, 90, true)
		pass(time.Second)
		s.observe(p, tags.Sample{Quality: tags.Bad, Reason: tags.ReasonRemoved}, true)
		pass(5 * time.Second)
		s.observe(p, tags.Sample{Quality: tags.Bad, Reason: tags.ReasonWaiting}, true)
		require.NoError(t, p.rules.Adopt(t.Context(), "plc", 2, valid))
		before := kinds(t, p.service)
		s.see(p, 90, false)
		pass(19900 * time.Millisecond)
		require.Equal(t, before, kinds(t, p.service))
		pass(200 * time.Millisecond)
		require.Equal(t, append(before, alarms.Raised), kinds(t, p.service))
	})
}

// A setpoint that is heard does not tell what was missed of the tag.
func TestDelayIsNotHeardByItsSetpointAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.Deviation, func(r *rules.Rule) { r.OnDelay, r.Limit, r.SetpointTag = 20*time.Second, 10, "sp" }))
		defer s.stop()
		p := s.engines[0]
		set := func(v float64) {
			s.seq++
			x := tags.Sample{Value: tags.FloatValue(v), Quality: tags.Good, SourceTime: time.Now(), ServerTime: time.Now()}
			p.rules.Observe([]tags.Change{{Tag: &tags.Tag{Name: "sp", Driver: "mixer", DataType: tags.Float}, Sample: x, Seq: s.seq}})
		}
		set(50)
		s.see(p, 90, true)
		pass(time.Second)
		s.seeLost(p, tags.FloatValue(90))
		pass(time.Second)
		set(51)
		pass(8 * time.Second)
		s.see(p, 90, true)
		pass(2 * time.Second)
		require.NoError(t, p.rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(p, 90, false)
		requireRaisedAfter(t, p, 18*time.Second)
	})
}
