package rules_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// killed is an engine that cannot store what follows from values, and is killed then. It returns what its next run finds, and when that began.
func (s *shared) killed(values ...float64) (kept *shelfOfSignals, began time.Time) {
	s.t.Helper()
	kept = &shelfOfSignals{room: 100}
	p := s.joinWith(kept)
	s.adopt(p, "plc", valid)
	s.store.broken.Store(true)
	began = time.Now()
	for _, v := range values {
		s.set(v)
	}
	require.NotEmpty(s.t, kept.all())
	s.kill(p, kept)
	s.store.broken.Store(false)
	return kept, began
}

// kill ends the engine that has joined last, as if it had no time to store.
func (s *shared) kill(p *plant, kept *shelfOfSignals) {
	s.t.Helper()
	last := slices.Clone(kept.signals)
	_ = p.rules.Close(s.t.Context()) // it cannot store what waits
	require.NoError(s.t, p.service.Close(context.Background()))
	kept.signals = last
	s.engines = s.engines[:len(s.engines)-1]
}

func (s *shelfOfSignals) all() []rules.Pending {
	list, _ := s.LoadPending()
	return list
}

func (s *shared) activeOnes() []alarms.Occurrence {
	s.t.Helper()
	pass(time.Second)
	list, err := s.engines[0].service.Active(s.t.Context())
	require.NoError(s.t, err)
	return list
}

// An engine that runs again, and whose drivers no other has had meanwhile, goes on with the alarms that it could not store.
func TestEngineThatIsKilledGoesOnWithItsAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, nil))
		defer func() { s.stop() }()
		kept, began := s.killed(90)
		p := s.joinWith(kept)
		require.Empty(t, s.activeOnes(), "it has not adopted the driver")
		require.Len(t, kept.all(), 1, "it may be killed again")
		s.adopt(p, "plc", valid)
		list := s.activeOnes()
		require.Len(t, list, 1)
		require.True(t, began.Equal(list[0].RaisedAt))
		require.Empty(t, kept.all())
		s.set(91)
		require.Len(t, s.kinds(), 1)
		s.set(70)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
		require.Empty(t, p.lates(began))
	})
}

func TestEngineThatIsKilledGoesOnWithTheEndOfAnAlarm(t *testing.T) {
	for _, latching := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.Latching = latching }))
			defer func() { s.stop() }()
			s.adopt(s.engines[0], "plc", valid)
			s.set(90)
			require.Len(t, s.activeOnes(), 1)
			require.NoError(t, s.engines[0].rules.Yield(t.Context(), "plc"))
			kept, began := s.killed(90, 70)
			s.adopt(s.joinWith(kept), "plc", valid)
			end := alarms.Cleared
			if latching {
				end = alarms.Returned
			}
			require.Equal(t, []alarms.EventKind{alarms.Raised, end}, s.kinds())
			o, err := s.engines[0].service.RecentHistory(t.Context(), 1)
			require.NoError(t, err)
			if latching {
				o[0].ClearedAt = o[0].ReturnedAt
			}
			require.True(t, began.Add(time.Second).Equal(o[0].ClearedAt), "the time at which it ended is kept")
		})
	}
}

// What an engine could not store counts no more when another has judged its drivers since, whether it runs again before or after that: neither is an alarm raised
// that nobody would clear, nor one cleared that lasts. What the other cannot know is stored as over.
func TestEngineThatIsKilledLeavesItsAlarmsToTheNext(t *testing.T) {
	for _, c := range []struct {
		name   string
		before float64   // the value that is stored
		seen   []float64 // by the engine that is killed
		after  float64
		active int
		lates  []string
	}{
		{"a begin, and normal since", 70, []float64{90}, 70, 0, []string{"0-0"}},
		{"a begin, and lasting", 70, []float64{90}, 91, 1, nil},
		{"an end, and active again", 90, []float64{70}, 95, 1, nil},
		{"an end, and normal since", 90, []float64{70}, 60, 0, nil},
		{"one that is over, and another", 70, []float64{90, 70, 92}, 93, 1, []string{"0-1"}},
		{"an end and two that are over", 90, []float64{70, 91, 71, 92, 72}, 60, 0, []string{"1-2", "3-4"}},
	} {
		for _, again := range []string{"before it adopts", "after", "and adopts the driver back"} {
			t.Run(c.name+"/"+again, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := share(t, 1, rule(rules.High, nil))
					defer func() { s.stop() }()
					other := s.engines[0]
					s.adopt(other, "plc", valid)
					s.set(c.before)
					require.NoError(t, other.rules.Yield(t.Context(), "plc"))
					kept, began := s.killed(c.seen...)
					var p *plant
					if again == "before it adopts" {
						p = s.joinWith(kept)
						pass(time.Second)
					}
					s.adopt(other, "plc", valid)
					s.set(c.after)
					if p == nil {
						p = s.joinWith(kept)
					}
					if again == "and adopts the driver back" {
						require.NoError(t, other.rules.Yield(t.Context(), "plc"))
						s.adopt(p, "plc", valid)
					} else {
						pass(time.Second)
						require.Len(t, s.activeOnes(), c.active)
						require.NotEmpty(t, kept.all(), "it may be killed again")
						pass(time.Minute)
					}
					require.Len(t, s.activeOnes(), c.active)
					require.Equal(t, append([]string{}, c.lates...), p.lates(began))
					require.Empty(t, kept.all())
					s.set(50)
					require.Empty(t, s.activeOnes())
				})
			})
		}
	}
}

// A delay that was stored before the signals that could not be is over.
func TestEngineThatIsKilledForgetsADelayThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 3 * time.Second }))
		defer func() { s.stop() }()
		kept := &shelfOfSignals{room: 100}
		p := s.joinWith(kept)
		s.adopt(p, "plc", valid)
		s.set(90)
		s.store.broken.Store(true)
		pass(3 * time.Second)
		s.set(70)
		require.Len(t, kept.all(), 2)
		s.kill(p, kept)
		s.store.broken.Store(false)

		p = s.joinWith(kept)
		s.set(91)
		s.adopt(p, "plc", valid)
		require.Empty(t, s.activeOnes(), "the delay has just begun")
		s.set(71)
		states, err := s.store.RuleStates(t.Context())
		require.NoError(t, err)
		require.Len(t, states, 1)
		require.Equal(t, rules.PhaseNormal, states[0].Phase)
		s.set(92)
		pass(3 * time.Second)
		require.Len(t, s.activeOnes(), 1)
	})
}

// What was withdrawn because another engine has the driver is not kept for a restart either: it would be stored beside what that engine stores.
func TestWhatWasLeftToAnotherEngineIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, nil))
		defer func() { s.stop() }()
		kept, lost := &shelfOfSignals{room: 100}, atomic.Bool{}
		p := s.joinWith(kept)
		s.adopt(p, "plc", func() bool { return !lost.Load() })
		s.store.broken.Store(true)
		s.set(90)
		require.Len(t, kept.all(), 1)
		lost.Store(true)
		pass(10 * time.Second)
		require.Len(t, kept.all(), 1, "it is neither stored nor withdrawn yet")
		p.rules.Abandon("plc")
		s.store.broken.Store(false)
		pass(10 * time.Second)
		require.Empty(t, kept.all())
	})
}

// While the database is away, nobody can adopt a driver.
func TestLeftoversWaitForADriverAsLongAsTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, nil))
		defer func() { s.stop() }()
		kept, began := s.killed(90)
		p := s.joinWith(kept)
		pass(time.Second)
		s.store.away.Store(true)
		pass(5 * time.Minute)
		s.store.away.Store(false)
		pass(5 * time.Second) // until the lease is there
		s.adopt(p, "plc", valid)
		list := s.activeOnes()
		require.Len(t, list, 1)
		require.True(t, began.Equal(list[0].RaisedAt))
		require.Empty(t, p.lates(began))
	})
}

// A PendingStore reads signals while others are dropped.
func TestSignalsOfAPendingStoreDoNotChange(t *testing.T) {
	for _, late := range []int{0, 64} { // with 64, what is dropped becomes a part of the last one
		synctest.Test(t, func(t *testing.T) {
			s := share(t, 1, rule(rules.High, nil))
			defer func() { s.stop() }()
			kept, began := s.killed(90, 70)
			for i := range late {
				a := *kept.signals[0].Raise
				a.ID, a.At = fmt.Sprintf("01900000-0000-7000-8000-%012d", i), began.Add(time.Duration(i-100)*time.Second)
				kept.signals = append(kept.signals, rules.Pending{Signal: alarms.Signal{Raise: &a, Ended: a.At}})
			}
			list := kept.signals
			ids := func() (ids []string) {
				for _, p := range list {
					if p.Raise != nil {
						ids = append(ids, p.Raise.ID)
					}
				}
				return ids
			}
			before := ids()
			s.store.broken.Store(true)
			p := s.joinWith(kept)
			pass(time.Second)
			s.epoch++
			s.adopt(p, "plc", valid)
			pass(time.Second)
			s.store.broken.Store(false)
			pass(2 * time.Second)
			require.NotEmpty(t, p.lates(began))
			require.Equal(t, before, ids())
		})
	}
}
