package rules_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// seeOther shows an engine a value of another tag of the driver "robot".
func (s *shared) seeOther(p *plant, tag string, v float64) {
	s.seq++
	now := time.Now()
	p.rules.Observe([]tags.Change{{Tag: &tags.Tag{Name: tag, Driver: "robot", DataType: tags.Float}, Seq: s.seq,
		Sample: tags.Sample{Value: tags.FloatValue(v), Quality: tags.Good, SourceTime: now, ServerTime: now}}})
}

// lapsedLease has an engine whose lease of "plc" has ended, while that of "robot" has not, and how often it was asked for the former.
func lapsedLease(t *testing.T, first rules.Rule) (*shared, *plant, *atomic.Int64) {
	s := share(t, 1, first, rule(rules.High, func(r *rules.Rule) { r.ID, r.Tag = "other", "other" }))
	p, asked := s.engines[0], new(atomic.Int64)
	require.NoError(t, p.rules.Adopt(t.Context(), "plc", 1, func() bool { asked.Add(1); return false }))
	require.NoError(t, p.rules.Adopt(t.Context(), "robot", 1, valid))
	s.seeOther(p, "other", 70)
	pass(time.Second)
	return s, p, asked
}

// Alarms of a driver that is still an engine's own are stored at once while those of another one, whose lease has ended, wait for Abandon, however often the
// latter come and go.
func TestAlarmsDoNotWaitForThoseOfALapsedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, _ := lapsedLease(t, rule(rules.Deviation, func(r *rules.Rule) { r.SetpointTag, r.Limit = "setpoint", 10 }))
		defer s.stop()
		s.see(p, 70, false)
		var want []alarms.EventKind
		for i := range 40 { // they are coalesced in the end
			s.seeOther(p, "setpoint", 90-20*float64(i%2))
			pass(10 * time.Millisecond)
			s.seeOther(p, "other", 90-20*float64(i%2))
			pass(10 * time.Millisecond)
			want = append(want, []alarms.EventKind{alarms.Raised, alarms.Cleared}[i%2])
			require.Equal(t, want, kinds(t, p.service))
		}
		require.Positive(t, p.rules.Stats().Coalesced)
	})
}

// What waits for Abandon is not looked at for each sample and alarm of its driver: there may be thousands.
func TestWhatALapsedLeaseLeavesIsNotTriedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, asked := lapsedLease(t, rule(rules.High, nil))
		defer s.stop()
		s.see(p, 90, false)
		pass(time.Second)
		before := asked.Load()
		for range 1000 {
			s.see(p, 91, false) // it lasts
			pass(10 * time.Millisecond)
		}
		require.LessOrEqual(t, asked.Load()-before, int64(50))
	})
}

// States are stored by an interval of any length.
func TestStatesAreStoredByALongInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{memory: newMemory()}
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, func(r *rules.Rule) { r.OnDelay = time.Hour })))
		p := &plant{t: t, store: store, options: rules.Options{FlushInterval: 2 * time.Minute}}
		p.start()
		defer p.stop()
		stored := func() rules.Phase {
			states, err := store.RuleStates(t.Context())
			require.NoError(t, err)
			if len(states) == 0 {
				return rules.PhaseNormal
			}
			return states[0].Phase
		}
		p.set(90)
		pass(3 * time.Minute)
		require.Equal(t, rules.PhaseOnDelay, stored())
		p.set(70)
		pass(3 * time.Minute)
		require.Equal(t, rules.PhaseNormal, stored())
	})
}

// Whatever happens to the leases and to the store: what an engine may store is stored soon after the store works, and nothing waits for ever.
func TestNothingThatMayBeStoredWaits(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { nothingWaits(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func nothingWaits(t *testing.T, random *rand.Rand) {
	s := share(t, 1, rule(rules.High, nil), rule(rules.High, func(r *rules.Rule) { r.ID, r.Tag = "other", "other" }))
	defer s.stop()
	p := s.engines[0]
	var lease *atomic.Bool
	epoch := uint64(0)
	adopt := func() {
		epoch++
		held := new(atomic.Bool)
		held.Store(true)
		lease = held
		require.NoError(t, p.rules.Adopt(t.Context(), "plc", epoch, held.Load))
	}
	adopt()
	require.NoError(t, p.rules.Adopt(t.Context(), "robot", 1, valid))
	value := func() float64 { return 70 + 20*float64(random.IntN(2)) }
	other := 70.0
	for range 200 {
		switch random.IntN(12) {
		case 0:
			lease.Store(false)
		case 1:
			p.rules.Abandon("plc")
		case 2:
			s.store.broken.Store(false)
			adopt()
		case 3:
			s.store.broken.Store(true)
		case 4:
			s.store.broken.Store(false)
			pass(1100 * time.Millisecond)
			active, err := p.service.Active(t.Context())
			require.NoError(t, err)
			raised := false
			for _, o := range active {
				raised = raised || o.Source == "other"
			}
			require.Equal(t, other > 80, raised)
		case 5, 6, 7:
			other = value()
			s.seeOther(p, "other", other)
		default:
			s.see(p, value(), false)
		}
		pass(time.Duration(random.IntN(300)) * time.Millisecond)
	}
	s.store.broken.Store(false)
	p.rules.Abandon("plc")
	pass(1100 * time.Millisecond)
	require.Zero(t, p.rules.Stats().Pending)
}
