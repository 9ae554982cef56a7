package rules_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

func valid() bool { return true }

// shared are engines that share the driver "plc", of which each has the newest sample of the tag "t".
type shared struct {
	t       *testing.T
	store   *flaky
	engines []*plant
	epoch   uint64 // of the last that has adopted the driver

	mu     sync.Mutex
	sample tags.Snapshot
	seq    uint64
}

func share(t *testing.T, n int, first ...rules.Rule) *shared {
	s := &shared{t: t, store: &flaky{memory: newMemory()}}
	for _, r := range first {
		require.NoError(t, s.store.AddRule(t.Context(), r))
	}
	s.sample = tags.Snapshot{Tag: &tags.Tag{Name: "t", Driver: "plc", DataType: tags.Float}, Sample: tags.Sample{Reason: tags.ReasonWaiting}}
	for range n {
		s.join()
	}
	return s
}

func (s *shared) join() *plant { return s.joinWith(nil) }

// joinWith starts an engine with what its last run has left.
func (s *shared) joinWith(kept rules.PendingStore) *plant {
	s.t.Helper()
	p := &plant{t: s.t, store: s.store}
	var err error
	p.service, err = alarms.New(s.t.Context(), s.store, alarms.Options{})
	require.NoError(s.t, err)
	p.rules, err = rules.New(s.t.Context(), s.store, p.service, rules.Options{PollInterval: 250 * time.Millisecond, Shared: true, Pending: kept,
		Current: func(tag string) (tags.Snapshot, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.sample, tag == "t"
		}})
	require.NoError(s.t, err)
	s.engines = append(s.engines, p)
	return p
}

func (s *shared) stop() {
	for _, p := range s.engines {
		p.stop()
	}
}

// set shows a value to all engines.
func (s *shared) set(v float64) { s.change(tags.FloatValue(v), tags.Good, tags.ReasonNone) }

func (s *shared) change(v tags.Value, q tags.Quality, reason tags.Reason) {
	s.mu.Lock()
	now := time.Now()
	s.seq++
	s.sample.Sample = tags.Sample{Value: v, Quality: q, Reason: reason, SourceTime: now, ServerTime: now}
	c := tags.Change{Tag: s.sample.Tag, Sample: s.sample.Sample, Seq: s.seq}
	s.mu.Unlock()
	for _, p := range s.engines {
		p.rules.Observe([]tags.Change{c})
	}
	pass(time.Second)
}

// adopt lets an engine adopt a driver and read it.
func (s *shared) adopt(p *plant, driver string, valid func() bool) {
	s.t.Helper()
	s.epoch++
	require.NoError(s.t, p.rules.Adopt(s.t.Context(), driver, s.epoch, valid))
	s.mu.Lock()
	s.seq++
	c := tags.Change{Tag: s.sample.Tag, Sample: s.sample.Sample, Seq: s.seq}
	s.mu.Unlock()
	p.rules.Observe([]tags.Change{c})
}

func (s *shared) kinds() []alarms.EventKind {
	s.t.Helper()
	pass(500 * time.Millisecond)
	return kinds(s.t, s.engines[0].service)
}

func TestOneOfSeveralEnginesEvaluates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 3, rule(rules.High, nil))
		defer s.stop()
		s.set(90)
		require.Empty(t, s.kinds(), "no engine has adopted the driver")
		s.adopt(s.engines[0], "plc", valid)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds(), "the value is known already")
		s.set(70)
		s.set(91)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared, alarms.Raised}, s.kinds())
		require.NoError(t, s.engines[0].rules.Yield(t.Context(), "plc"))
		s.set(70)
		require.Len(t, s.kinds(), 3)
		s.adopt(s.engines[1], "plc", valid)
		require.Equal(t, alarms.Cleared, s.kinds()[3])
		s.set(92)
		s.set(93)
		require.Len(t, s.kinds(), 5)
		require.NoError(t, s.engines[1].rules.Yield(t.Context(), "plc"))
		s.adopt(s.engines[0], "plc", valid)
		s.set(94)
		require.Len(t, s.kinds(), 5, "it lasts")
		s.set(60)
		require.Len(t, s.kinds(), 6)
		late := s.join()
		require.NoError(t, s.engines[0].rules.Yield(t.Context(), "plc"))
		s.adopt(late, "plc", valid)
		s.set(95)
		require.Len(t, s.kinds(), 7)
	})
}

func TestDelaysGoOnInAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.OffDelay = 10*time.Second, 10*time.Second }))
		defer s.stop()
		var gone atomic.Bool
		s.adopt(s.engines[0], "plc", func() bool { return !gone.Load() })
		s.set(90) // takes 1 s
		pass(3 * time.Second)
		gone.Store(true) // the first engine hangs; nobody evaluates for three seconds
		pass(3 * time.Second)
		s.adopt(s.engines[1], "plc", valid)
		pass(2900 * time.Millisecond)
		require.Empty(t, kinds(t, s.engines[0].service))
		pass(200 * time.Millisecond)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, s.engines[0].service))
		s.engines[0].rules.Abandon("plc")
		s.set(70)
		pass(4 * time.Second)
		require.NoError(t, s.engines[1].rules.Yield(t.Context(), "plc"))
		s.adopt(s.engines[0], "plc", valid)
		pass(4900 * time.Millisecond)
		require.Len(t, kinds(t, s.engines[0].service), 1)
		pass(200 * time.Millisecond)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, kinds(t, s.engines[0].service))
		pass(time.Minute)
		require.Len(t, s.kinds(), 2)
	})
}

// An engine that cannot store leaves what lasts to the one that takes over, and stores later only what that cannot know.
func TestAlarmsThatAreAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, nil))
		defer s.stop()
		var lost atomic.Bool
		s.adopt(s.engines[0], "plc", func() bool { return !lost.Load() })
		s.store.broken.Store(true)
		began := time.Now()
		s.set(90)
		s.set(70) // an occurrence that is over
		s.set(91)
		lost.Store(true)
		s.store.broken.Store(false)
		pass(5 * time.Second)
		require.Empty(t, s.kinds(), "without the right to, it stores nothing")
		s.adopt(s.engines[1], "plc", valid)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
		s.engines[0].rules.Abandon("plc")
		pass(5 * time.Second)
		all, err := s.engines[0].service.History(t.Context(), began.Add(-time.Hour), time.Now().Add(time.Hour), alarms.ListQuery{Page: 1, PageSize: 10})
		require.NoError(t, err)
		require.Len(t, all.Occurrences, 2)
		require.Equal(t, []string{"0-1"}, s.engines[0].lates(began))
		s.set(60)
		active, err := s.engines[0].service.Active(t.Context())
		require.NoError(t, err)
		require.Empty(t, active)
	})
}

// An engine that has given a driver away, and could not store in time what it had seen, stores it not later either: the one that took over knows better.
func TestAlarmsThatCouldNotBeYielded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, nil))
		defer s.stop()
		var lost atomic.Bool
		a, b := s.engines[0], s.engines[1]
		s.adopt(a, "plc", func() bool { return !lost.Load() })
		s.set(90)
		s.store.broken.Store(true)
		s.set(70)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		require.ErrorIs(t, a.rules.Yield(ctx, "plc"), context.DeadlineExceeded)
		cancel()
		lost.Store(true)
		a.rules.Abandon("plc")
		s.set(95)
		s.adopt(b, "plc", valid)
		s.store.broken.Store(false)
		pass(time.Minute)
		active, err := b.service.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, active, 1)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
		require.NoError(t, a.rules.Settle(t.Context()), "nothing is left to store")
		s.set(60)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
	})
}

// What is being stored while it is abandoned, and fails, is stored no more, except as an occurrence that is over.
func TestAlarmsThatAreAbandonedWhileTheyAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, nil))
		defer s.stop()
		var lost atomic.Bool
		a, b := s.engines[0], s.engines[1]
		s.adopt(a, "plc", func() bool { return !lost.Load() })
		began := time.Now()
		hold := make(chan struct{})
		s.store.hold = hold
		s.set(90) // is being stored
		s.set(70)
		lost.Store(true)
		a.rules.Abandon("plc")
		s.store.broken.Store(true)
		hold <- struct{}{}
		pass(time.Second)
		s.store.broken.Store(false)
		close(hold)
		pass(time.Minute)
		require.Equal(t, []string{"0-1"}, a.lates(began))
		s.adopt(b, "plc", valid)
		active, err := b.service.Active(t.Context())
		require.NoError(t, err)
		require.Empty(t, active)
		require.NoError(t, a.rules.Settle(t.Context()), "nothing is left to store")
	})
}

// What an engine was storing while the database was silent is not stored when it answers again and the lease is over, whether the engine has
// abandoned the driver by then or not: the one that took over may have raised and cleared the alarm meanwhile.
func TestALeaseThatEndsWhileTheDatabaseIsSilent(t *testing.T) {
	for _, abandoned := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t, 2, rule(rules.High, nil))
			defer s.stop()
			var lost atomic.Bool
			a, b := s.engines[0], s.engines[1]
			s.adopt(a, "plc", func() bool { return !lost.Load() })
			hold := make(chan struct{})
			s.store.hold = hold
			s.set(90)
			lost.Store(true)
			if abandoned {
				a.rules.Abandon("plc")
			}
			s.store.hold = nil // it answers the others
			s.adopt(b, "plc", valid)
			for _, v := range []float64{95, 60} {
				s.see(a, v, true)
				s.see(b, v, false)
				pass(time.Second)
			}
			close(hold)
			pass(time.Minute)
			a.rules.Abandon("plc")
			require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
			require.NoError(t, a.rules.Settle(t.Context()), "nothing is left to store")
		})
	}
}

// What was on its way to the database when its engine lost the driver may arrive after the next engine has read the alarms: it stays neither raised nor cleared.
func TestWhatArrivesLateIsMended(t *testing.T) {
	for _, late := range []alarms.Signal{{Key: "rule:r", Reset: true}, {Raise: &alarms.Alarm{Key: "rule:r", Source: "t", Message: "hot", Severity: alarms.Critical}}} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t, 2, rule(rules.High, nil))
			defer s.stop()
			s.adopt(s.engines[0], "plc", valid)
			value := 60.0
			if late.Raise == nil {
				value = 90
			}
			s.set(value)
			_, err := s.engines[1].service.Apply(t.Context(), []alarms.Signal{late})
			require.NoError(t, err)
			pass(20 * time.Second)
			active, err := s.engines[0].service.Active(t.Context())
			require.NoError(t, err)
			require.Len(t, active, int(value)/90)
			kinds := s.kinds()
			pass(time.Hour)
			require.Equal(t, kinds, s.kinds())
		})
	}
}

func TestRulesThatChangeWhileAnotherEngineEvaluates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, nil))
		defer s.stop()
		here, there := s.engines[0], s.engines[1]
		s.adopt(here, "plc", valid)
		update := func(change func(*rules.Rule)) {
			t.Helper()
			_, err := there.rules.Update(t.Context(), "r", func(r *rules.Rule) error { change(r); return nil })
			require.NoError(t, err)
			pass(500 * time.Millisecond)
		}
		s.set(90)
		here.requireActive(true, "raised")
		update(func(r *rules.Rule) { r.Limit = 95 })
		here.requireActive(false, "another limit")
		update(func(r *rules.Rule) { r.Limit = 80 })
		here.requireActive(true, "the old limit")
		update(func(r *rules.Rule) { r.Enabled = false })
		here.requireActive(false, "disabled")
		update(func(r *rules.Rule) { r.Enabled = true })
		pass(3 * time.Second)
		here.requireActive(true, "enabled")
		require.NoError(t, here.rules.Yield(t.Context(), "plc"))
		update(func(r *rules.Rule) { r.Enabled = false })
		here.requireActive(false, "disabled while no engine evaluates it")
		update(func(r *rules.Rule) { r.Enabled = true })
		s.adopt(here, "plc", valid)
		here.requireActive(true, "evaluated again")
		require.NoError(t, here.rules.Yield(t.Context(), "plc"))
		require.NoError(t, there.rules.Remove(t.Context(), "r", "anna", nil))
		pass(500 * time.Millisecond)
		here.requireActive(false, "removed while no engine evaluates it")
		_, err := there.rules.Add(t.Context(), rule(rules.High, nil))
		require.NoError(t, err)
		pass(500 * time.Millisecond)
		here.requireActive(false, "new, and no engine evaluates it")
		s.adopt(there, "plc", valid)
		here.requireActive(true, "new")
		s.change(tags.FloatValue(90), tags.Bad, tags.ReasonRemoved)
		here.requireActive(false, "its tag was removed")
		pass(5 * time.Second)
		here.requireActive(false, "its tag was removed")
	})
}

// A tag that moves to another driver takes its alarms along.
func TestTagThatMovesToAnotherDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, nil))
		defer s.stop()
		s.adopt(s.engines[0], "plc", valid)
		s.adopt(s.engines[1], "robot", valid)
		s.set(90)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
		moved := *s.sample.Tag
		moved.Driver = "robot"
		s.mu.Lock()
		s.sample.Tag = &moved
		s.mu.Unlock()
		s.set(91)
		require.Len(t, s.kinds(), 1)
		s.set(70)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
	})
}

// What is not stored yet of a tag that moves to another driver of the engine does not end with the lease of the first driver.
func TestAlarmOfATagThatMovesBeforeItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, nil))
		defer s.stop()
		p := s.engines[0]
		var lost atomic.Bool
		s.adopt(p, "robot", valid)
		s.adopt(p, "plc", func() bool { return !lost.Load() })
		s.store.broken.Store(true)
		s.set(90)
		moved := *s.sample.Tag
		moved.Driver = "robot"
		s.mu.Lock()
		s.sample.Tag = &moved
		s.mu.Unlock()
		s.set(91)
		lost.Store(true)
		p.rules.Abandon("plc")
		s.store.broken.Store(false)
		pass(5 * time.Second)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
		require.NoError(t, p.rules.Settle(t.Context()))
		s.set(70)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
	})
}

// What is not stored yet of a rule that was removed ends with the lease of its driver, except an occurrence that is over.
func TestRuleThatIsRemovedBeforeItsAlarmIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, nil))
		defer s.stop()
		p := s.engines[0]
		var lost atomic.Bool
		began := time.Now()
		s.adopt(p, "plc", func() bool { return !lost.Load() })
		s.store.broken.Store(true)
		s.set(90)
		require.NoError(t, p.rules.Remove(t.Context(), "r", "", nil))
		lost.Store(true)
		p.rules.Abandon("plc")
		s.store.broken.Store(false)
		pass(5 * time.Second)
		require.Zero(t, p.rules.Stats().Pending)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, p.rules.Settle(ctx), "something waits for a lease that is over")
		require.Equal(t, []string{"0-1"}, p.lates(began))
	})
}

// An engine that is alone ends the alarm of a rule that is not evaluated any more, also if it could not do so before its lease ended.
func TestRuleThatEndsBeforeTheEndOfItsAlarmIsStored(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *shared, *plant){
		"removed": func(t *testing.T, _ *shared, p *plant) { require.NoError(t, p.rules.Remove(t.Context(), "r", "", nil)) },
		"disabled": func(t *testing.T, _ *shared, p *plant) {
			_, err := p.rules.Update(t.Context(), "r", func(r *rules.Rule) error { r.Enabled = false; return nil })
			require.NoError(t, err)
		},
		"tag removed": func(_ *testing.T, s *shared, p *plant) {
			s.observe(p, tags.Sample{Quality: tags.Bad, Reason: tags.ReasonRemoved}, false)
		},
	} {
		for _, inFlight := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in flight %v", name, inFlight), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := share(t, 1, rule(rules.High, nil))
					defer s.stop()
					p := s.engines[0]
					var lost atomic.Bool
					s.adopt(p, "plc", func() bool { return !lost.Load() })
					s.set(90)
					require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
					hold := make(chan struct{})
					if inFlight {
						s.store.hold = hold
					}
					s.store.broken.Store(true)
					end(t, s, p)
					synctest.Wait()
					lost.Store(true)
					p.rules.Abandon("plc")
					close(hold)
					pass(2 * time.Second)
					s.store.broken.Store(false)
					require.NoError(t, p.rules.Adopt(t.Context(), "plc", 2, valid))
					pass(5 * time.Second)
					require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
				})
			})
		}
	}
}

// What other engines have shown before may be old: neither does it clear an alarm that they have raised, nor raise one.
func TestOldValuesDoNotCountWhenADriverMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 2, rule(rules.High, func(r *rules.Rule) { r.OffDelay = 2 * time.Second }))
		defer s.stop()
		s.set(70)
		s.adopt(s.engines[0], "plc", valid)
		s.see(s.engines[1], 70, true)
		s.see(s.engines[0], 90, false) // the other engine has not seen it
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
		require.NoError(t, s.engines[0].rules.Yield(t.Context(), "plc"))
		require.NoError(t, s.engines[1].rules.Adopt(t.Context(), "plc", 2, valid))
		s.see(s.engines[1], 71, true) // on its way when the driver moved
		pass(time.Minute)
		require.Len(t, s.kinds(), 1)
		s.see(s.engines[1], 91, false)
		require.Len(t, s.kinds(), 1)
		s.see(s.engines[1], 60, false)
		pass(3 * time.Second)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, s.kinds())
	})
}

func TestAdoptWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, nil))
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.set(90)
		require.Error(t, s.engines[0].rules.Adopt(ctx, "plc", 1, valid))
		s.adopt(s.engines[0], "plc", valid)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, s.kinds())
	})
}

// An alarm that is due while the store takes long for the states of other rules is stored as soon as those are.
func TestAlarmIsStoredAfterStatesThatTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t, 1, rule(rules.High, func(r *rules.Rule) { r.ID, r.OnDelay = "slow", 10*time.Minute }), rule(rules.High, func(r *rules.Rule) { r.Limit = 100 }))
		defer s.stop()
		s.store.slow = 200 * time.Millisecond
		p := s.engines[0]
		require.NoError(t, p.rules.Adopt(t.Context(), "plc", 1, valid))
		s.see(p, 90, false)
		pass(100 * time.Millisecond)
		s.see(p, 110, false)
		pass(150 * time.Millisecond)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, p.service))
	})
}
