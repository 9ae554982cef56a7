package rules_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// plant is rules over a service, fed by hand. It is for use within a bubble.
type plant struct {
	t       *testing.T
	store   *flaky
	service *alarms.Service
	rules   *rules.Service
	options rules.Options
}

func newPlant(t *testing.T, rules ...rules.Rule) *plant {
	p := &plant{t: t, store: &flaky{memory: newMemory()}}
	for _, r := range rules {
		require.NoError(t, p.store.AddRule(t.Context(), r))
	}
	p.start()
	return p
}

func (p *plant) start() {
	p.t.Helper()
	var err error
	p.service, err = alarms.New(p.t.Context(), p.store, alarms.Options{})
	require.NoError(p.t, err)
	p.rules, err = rules.New(p.t.Context(), p.store, p.service, p.options)
	require.NoError(p.t, err)
}

func (p *plant) stop() {
	p.t.Helper()
	require.NoError(p.t, p.rules.Close(p.t.Context()))
	require.NoError(p.t, p.service.Close(context.Background()))
}

func (p *plant) sample(tag string, v tags.Value, q tags.Quality, reason tags.Reason) {
	now := time.Now()
	def := &tags.Tag{Name: tag, Driver: "plc", DataType: v.Type(), Unit: "°C"}
	p.rules.Observe([]tags.Change{{Tag: def, Sample: tags.Sample{Value: v, Quality: q, Reason: reason, SourceTime: now, ServerTime: now}}})
}

// set sets the tag "t" to a good value.
func (p *plant) set(v float64) { p.sample("t", tags.FloatValue(v), tags.Good, tags.ReasonNone) }

// active returns the alarm that is active; there is at most one.
func (p *plant) active() *alarms.Occurrence {
	p.t.Helper()
	synctest.Wait()
	page, err := p.store.Occurrences(p.t.Context(), alarms.Query{Active: true, Limit: 10})
	require.NoError(p.t, err)
	require.LessOrEqual(p.t, len(page.Occurrences), 1)
	if len(page.Occurrences) == 0 {
		return nil
	}
	return &page.Occurrences[0]
}

func (p *plant) requireActive(want bool, format string, args ...any) {
	p.t.Helper()
	require.Equal(p.t, want, p.active() != nil, format, args)
}

func (p *plant) kinds() []alarms.EventKind {
	synctest.Wait()
	return kinds(p.t, p.service)
}

func rule(kind rules.Kind, change func(*rules.Rule)) rules.Rule {
	r := rules.Rule{ID: "r", Tag: "t", Kind: kind, Severity: alarms.Error, Enabled: true}
	if kind == rules.High || kind == rules.HighHigh {
		r.Limit = 80
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestLimits(t *testing.T) {
	type step struct {
		value  float64
		active bool
	}
	for _, c := range []struct {
		name  string
		rule  rules.Rule
		steps []step
	}{
		{"high", rule(rules.High, nil), []step{{79, false}, {80, false}, {80.1, true}, {80.05, true}, {80, false}}},
		{"high with deadband", rule(rules.HighHigh, func(r *rules.Rule) { r.Deadband = 2 }),
			[]step{{80, false}, {81, true}, {79, true}, {78.1, true}, {78, false}, {79, false}, {80.5, true}}},
		{"low", rule(rules.Low, func(r *rules.Rule) { r.Limit = -5 }), []step{{-5, false}, {-5.1, true}, {-5, false}}},
		{"low with deadband", rule(rules.LowLow, func(r *rules.Rule) { r.Limit, r.Deadband = 10, 1 }),
			[]step{{9, true}, {10.9, true}, {11, false}, {10, false}, {9.9, true}}},
		{"deviation", rule(rules.Deviation, func(r *rules.Rule) { r.Limit, r.Setpoint, r.Deadband = 3, 50, 1 }),
			[]step{{50, false}, {53, false}, {53.1, true}, {52.1, true}, {52, false}, {46.9, true}, {48, false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, c.rule)
				defer p.stop()
				for i, s := range c.steps {
					p.set(s.value)
					p.requireActive(s.active, "step %d: %v", i, s.value)
				}
			})
		})
	}
}

func TestAlarmOfARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) {
			r.Instructions = "Open V-1."
			r.Name, r.Group, r.Message = "too hot", "2", "{{{name}}}: {tag} {value} {unit} > {limit} ({kind})"
		}))
		defer p.stop()
		p.set(80.5)
		o := p.active()
		require.Equal(t, "{too hot}: t 80.5 °C > 80 (High)", o.Message)
		require.Equal(t, "rule:r", o.Key)
		require.Equal(t, "t", o.Source)
		require.Equal(t, "Sensor", o.SourceType)
		require.Equal(t, alarms.Error, o.Severity)
		require.Equal(t, map[string]string{"ruleId": "r", "group": "2"}, o.Labels)
		require.Equal(t, alarms.Cause{Tag: "t", Rule: "r", Value: "80.5", Limit: "80", Instructions: "Open V-1."}, o.Cause)
		require.Equal(t, alarms.StateUnacknowledged, o.State())
		p.set(99)
		require.Equal(t, "80.5", p.active().Cause.Value, "the value is the one that raised it")
		require.True(t, time.Now().Equal(o.RaisedAt))
	})
}

func TestSetpointTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.Deviation, func(r *rules.Rule) { r.Limit, r.SetpointTag = 3, "sp" }))
		defer p.stop()
		sp := func(v float64, q tags.Quality) { p.sample("sp", tags.FloatValue(v), q, tags.ReasonNone) }
		p.set(100)
		p.requireActive(false, "the setpoint is not known")
		sp(99, tags.Good)
		p.requireActive(false, "near the setpoint")
		sp(50, tags.Good)
		p.requireActive(true, "the setpoint moved")
		require.Contains(t, p.active().Message, "further than 3 from 50")
		sp(100, tags.Bad)
		p.requireActive(true, "a bad setpoint says nothing")
		sp(100, tags.Good)
		p.requireActive(false, "the setpoint came back")
	})
}

func TestStatesAndQualities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.Discrete, func(r *rules.Rule) { r.States = []string{"true", "7", "FAULT"} }))
		defer p.stop()
		for i, s := range []struct {
			v      tags.Value
			q      tags.Quality
			active bool
		}{
			{tags.BoolValue(false), tags.Good, false},
			{tags.BoolValue(true), tags.Good, true},
			{tags.BoolValue(false), tags.Bad, true}, // not known to be normal
			{tags.BoolValue(false), tags.Good, false},
			{tags.IntValue(7), tags.Good, true},
			{tags.IntValue(70), tags.Good, false},
			{tags.StringValue("FAULT"), tags.Uncertain, true},
			{tags.StringValue("fault"), tags.Good, false},
		} {
			p.sample("t", s.v, s.q, tags.ReasonNone)
			p.requireActive(s.active, "step %d", i)
		}
	})
	for kind, steps := range map[rules.Kind][]struct {
		q      tags.Quality
		reason tags.Reason
		active bool
	}{
		rules.BadQuality: {
			{tags.Bad, tags.ReasonWaiting, false}, {tags.Good, tags.ReasonNone, false}, {tags.Uncertain, tags.ReasonStale, false},
			{tags.Bad, tags.ReasonNotConnected, true}, {tags.Bad, tags.ReasonTimeout, true}, {tags.Uncertain, tags.ReasonOutOfRange, false},
		},
		rules.Stale: {
			{tags.Bad, tags.ReasonWaiting, false}, {tags.Good, tags.ReasonNone, false}, {tags.Uncertain, tags.ReasonStale, true},
			{tags.Bad, tags.ReasonStale, true}, {tags.Bad, tags.ReasonNotConnected, true}, {tags.Uncertain, tags.ReasonOutOfRange, false},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, rule(kind, nil))
			defer p.stop()
			for i, s := range steps {
				p.sample("t", tags.FloatValue(1), s.q, s.reason)
				p.requireActive(s.active, "%s: step %d", kind, i)
			}
		})
	}
}

func TestRateOfChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// More than 2 a second on average over 10 s, that is more than 20 in 10 s.
		p := newPlant(t, rule(rules.RateOfChange, func(r *rules.Rule) { r.Limit, r.Window, r.Deadband = 2, 10*time.Second, 1 }))
		defer p.stop()
		v := 100.0
		for range 30 { // 1 a second
			p.set(v)
			time.Sleep(time.Second)
			v--
		}
		p.requireActive(false, "a slow change")
		p.set(v - 15)
		p.requireActive(true, "a jump beside it")
		time.Sleep(5 * time.Second)
		p.requireActive(true, "15 and a few in 10 s are still above the deadband")
		time.Sleep(6 * time.Second)
		p.requireActive(false, "nothing has changed for 11 s, and nobody told so")
		p.set(v + 100)
		p.requireActive(true, "up counts as well")
		p.sample("t", tags.FloatValue(v+100), tags.Bad, tags.ReasonTimeout)
		time.Sleep(time.Minute)
		p.set(v - 500)
		p.requireActive(true, "whether what changed while the quality was Bad was quick is not known")
		for range 9_999 {
			p.set(v - 500) // many readings within a window
			time.Sleep(time.Millisecond)
		}
		p.requireActive(true, "not known for a whole window yet")
		time.Sleep(time.Millisecond)
		p.requireActive(false, "nothing has changed for a window, and nobody told so")
		p.set(v)
		p.requireActive(true, "a jump after many readings")
	})
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.OffDelay = 10*time.Second, 5*time.Second }))
		defer p.stop()
		p.set(90)
		time.Sleep(9 * time.Second)
		p.requireActive(false, "before the on-delay ends")
		p.set(70)
		time.Sleep(time.Second)
		p.set(90)
		begun := time.Now()
		time.Sleep(9 * time.Second)
		p.requireActive(false, "the delay began anew")
		p.set(95)
		p.sample("t", tags.Value{}, tags.Bad, tags.ReasonTimeout) // a delay runs on
		time.Sleep(time.Second)
		o := p.active()
		require.NotNil(t, o)
		require.True(t, begun.Add(10*time.Second).Equal(o.RaisedAt))
		p.set(70)
		time.Sleep(4 * time.Second)
		p.requireActive(true, "before the off-delay ends")
		p.set(90)
		time.Sleep(10 * time.Second)
		p.requireActive(true, "it came back")
		p.set(70)
		time.Sleep(5 * time.Second)
		p.requireActive(false, "after the off-delay")
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, p.kinds())
	})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.OffDelay = time.Minute, time.Minute }))
		p.set(90)
		time.Sleep(20 * time.Second)
		p.stop()
		time.Sleep(30 * time.Second)
		p.start()
		time.Sleep(20 * time.Second)
		p.requireActive(false, "no value has confirmed it yet")
		p.set(90)
		p.requireActive(true, "the on-delay did not start again")

		p.set(70)
		time.Sleep(30 * time.Second)
		p.stop()
		p.start()
		p.set(70)
		time.Sleep(29 * time.Second)
		p.requireActive(true, "before the off-delay ends")
		time.Sleep(2 * time.Second)
		p.requireActive(false, "the off-delay did not start again")

		p.set(90)
		time.Sleep(30 * time.Second)
		p.stop()
		time.Sleep(time.Hour)
		p.start()
		p.set(70)
		time.Sleep(time.Hour)
		p.requireActive(false, "it was normal when it was looked at again")

		p.set(90)
		time.Sleep(time.Minute)
		p.requireActive(true, "raised")
		id := p.active().ID
		p.stop()
		p.start()
		p.set(95)
		require.Equal(t, id, p.active().ID, "an active alarm stays, once")
		p.stop()
		p.start()
		p.set(70)
		time.Sleep(time.Minute)
		p.requireActive(false, "it became normal while nothing ran")
		p.stop()
	})
}

func TestRestartWithoutStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, nil))
		p.set(90)
		p.requireActive(true, "raised")
		p.stop()
		// The process ended between the alarm and the state of its rule.
		require.NoError(t, p.store.PutRuleStates(t.Context(), []rules.State{{RuleID: "r", Phase: rules.PhaseNormal, Since: time.Now()}}))
		p.start()
		p.set(70)
		p.requireActive(false, "the alarm itself counts")
		p.stop()
		require.NoError(t, p.store.PutRuleStates(t.Context(), []rules.State{{RuleID: "r", Phase: rules.PhaseActive, Since: time.Now()}}))
		p.start()
		p.set(90)
		p.requireActive(true, "the alarm itself counts")
		p.stop()
		require.NoError(t, p.store.RemoveRule(t.Context(), "r", nil))
		p.start()
		p.requireActive(false, "an alarm without a rule is cleared")
		p.stop()
	})
}

func TestLatchingRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.Latching = true }))
		p.set(90)
		p.set(70)
		o := p.active()
		require.NotNil(t, o, "it stays until it is reset")
		require.False(t, o.ReturnedAt.IsZero())
		p.stop()
		p.start()
		p.set(70)
		p.requireActive(true, "also after a restart")
		p.set(90)
		require.True(t, p.active().ReturnedAt.IsZero(), "it came back")
		p.set(70)
		synctest.Wait()
		_, err := p.service.Reset(t.Context(), alarms.ByCode(o.Code), "anna", "")
		require.NoError(t, err)
		p.requireActive(false, "reset")
		p.stop()
	})
}

func TestRulesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		defer p.stop()
		ctx := t.Context()
		p.set(90)
		r, err := p.rules.Add(ctx, rule(rules.High, func(r *rules.Rule) { r.ID = "" }))
		require.NoError(t, err)
		require.NotEmpty(t, r.ID)
		p.requireActive(false, "the tag was not watched when it changed")
		p.set(90)
		p.requireActive(true, "raised")
		id := p.active().ID
		update := func(change func(*rules.Rule)) {
			t.Helper()
			_, err := p.rules.Update(ctx, r.ID, func(r *rules.Rule) error { change(r); return nil })
			require.NoError(t, err)
		}
		update(func(r *rules.Rule) { r.Limit = 85 })
		require.Equal(t, id, p.active().ID, "still above the new limit")
		update(func(r *rules.Rule) { r.Limit = 95 })
		p.requireActive(false, "below the new limit")
		update(func(r *rules.Rule) { r.Limit = 80 })
		p.requireActive(true, "above it again")
		update(func(r *rules.Rule) { r.Enabled = false })
		p.requireActive(false, "disabled")
		p.set(99)
		p.requireActive(false, "disabled")
		update(func(r *rules.Rule) { r.Enabled = true })
		p.set(99)
		p.requireActive(true, "enabled")
		update(func(r *rules.Rule) { r.Tag = "u" })
		p.requireActive(false, "it looks at another tag")
		p.sample("u", tags.IntValue(81), tags.Good, tags.ReasonNone)
		p.requireActive(true, "of the other tag")
		_, err = p.rules.Update(ctx, r.ID, func(r *rules.Rule) error { r.Deadband = -1; return nil })
		require.ErrorIs(t, err, rules.ErrInvalid)
		_, err = p.rules.Add(ctx, rules.Rule{ID: r.ID, Tag: "t", Kind: rules.High})
		require.ErrorIs(t, err, rules.ErrExists)
		_, err = p.rules.Add(ctx, rules.Rule{ID: "a/b", Kind: "x"})
		require.ErrorIs(t, err, rules.ErrInvalid)
		require.Equal(t, 1, p.rules.Stats().Active)
		require.NoError(t, p.rules.Remove(ctx, r.ID, "anna", nil))
		p.requireActive(false, "removed")
		require.ErrorIs(t, p.rules.Remove(ctx, r.ID, "anna", nil), rules.ErrNotFound)
		list, err := p.rules.List(ctx)
		require.NoError(t, err)
		require.Empty(t, list)
	})
}

func TestCurrentSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		s, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		now := time.Now()
		current := tags.Sample{Value: tags.FloatValue(90), Quality: tags.Good, SourceTime: now}
		r, err := rules.New(t.Context(), store, s, rules.Options{Current: func(tag string) (tags.Snapshot, bool) {
			return tags.Snapshot{Tag: &tags.Tag{Name: "t", Unit: "bar"}, Sample: current}, tag == "t"
		}})
		require.NoError(t, err)
		_, err = r.Add(t.Context(), rule(rules.High, nil))
		require.NoError(t, err)
		require.Equal(t, rules.PhaseActive, r.Phase("r"), "judged by the value that the tag has")
		synctest.Wait()
		active, err := s.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, "t is 90 bar, above 80", active[0].Message)
		late := tags.Change{Tag: &tags.Tag{Name: "t"}, Late: true, Sample: tags.Sample{Value: tags.FloatValue(10), Quality: tags.Good, SourceTime: now.Add(-time.Hour)}}
		r.Observe([]tags.Change{late})
		require.Equal(t, rules.PhaseActive, r.Phase("r"), "an older value that came late says nothing about now")
		late.Late = false // the clock of the source was set back
		r.Observe([]tags.Change{late})
		require.Equal(t, rules.PhaseNormal, r.Phase("r"))
		require.NoError(t, r.Close(t.Context()))
		require.NoError(t, s.Close(context.Background()))
		r.Observe([]tags.Change{late}) // after Close it does nothing
	})
}

func TestStoreOfRulesFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []rules.Rule
		for i := range 3 {
			list = append(list, rule(rules.High, func(r *rules.Rule) { r.ID = fmt.Sprint("r", i); r.Tag = fmt.Sprint("t", i) }))
		}
		p := newPlant(t, list...)
		defer p.stop()
		set := func(i int, v float64) {
			p.sample(fmt.Sprint("t", i), tags.FloatValue(v), tags.Good, tags.ReasonNone)
		}
		p.store.broken.Store(true)
		for n := range 1001 { // raise, clear, ..., raise
			set(0, []float64{90, 70}[n%2])
		}
		set(1, 90)
		set(1, 70) // a transition that is over before it can be stored
		set(2, 90)
		time.Sleep(time.Minute)
		stats := p.rules.Stats()
		require.ErrorIs(t, stats.Err, errDisk)
		require.LessOrEqual(t, stats.Pending, 3*9)
		require.Equal(t, uint64(1004), uint64(stats.Pending)+stats.Coalesced, "what was folded is counted")
		p.store.broken.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Zero(t, p.rules.Stats().Pending)
		require.NoError(t, p.rules.Stats().Err)
		for i, want := range []bool{true, false, true} {
			c, err := p.service.Condition(t.Context(), alarms.ByKey(fmt.Sprint("rule:r", i)))
			require.NoError(t, err, "every rule's transition is journaled")
			require.Equal(t, want, c.Last.Active, "rule %d", i)
		}
	})
}

// held is a target that waits, as a slow disk does.
type held struct {
	*alarms.Service
	hold atomic.Pointer[chan struct{}]
}

func (h *held) Apply(ctx context.Context, signals []alarms.Signal) ([]alarms.Result, error) {
	if c := h.hold.Load(); c != nil {
		select {
		case <-*c:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return h.Service.Apply(ctx, signals)
}

func TestDelayEndsWhileStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 10 * time.Second }), rule(rules.High, func(r *rules.Rule) { r.ID, r.Tag = "other", "o" }))
		defer p.stop()
		target := &held{Service: p.service}
		gate := make(chan struct{})
		target.hold.Store(&gate)
		r, err := rules.New(t.Context(), p.store, target, rules.Options{})
		require.NoError(t, err)
		require.NoError(t, p.rules.Close(t.Context()))
		p.rules = r
		p.sample("o", tags.FloatValue(90), tags.Good, tags.ReasonNone) // its raise holds the writer up
		p.set(90)
		time.Sleep(11 * time.Second)
		p.set(70) // after the delay ended, before anybody could look
		target.hold.Store(nil)
		close(gate)
		synctest.Wait()
		c, err := p.service.Condition(t.Context(), alarms.ByKey("rule:r"))
		require.NoError(t, err, "the alarm was raised and cleared")
		require.False(t, c.Last.Active)
		require.Equal(t, time.Second, c.Last.ClearedAt.Sub(c.Last.RaisedAt), "at the times at which it happened")
	})
}

func TestRulesOptions(t *testing.T) {
	_, err := rules.New(t.Context(), nil, nil, rules.Options{})
	require.Error(t, err)
	store := newMemory()
	s := service(t, store, alarms.Options{})
	_, err = rules.New(t.Context(), store, s, rules.Options{FlushInterval: -1})
	require.ErrorContains(t, err, "FlushInterval")
}

// A value that is back within the deadband at the end of the delay does not contradict the alarm.
func TestAnAlarmNamesAValueBeyondItsLimit(t *testing.T) {
	for kind, values := range map[rules.Kind][]float64{rules.High: {70, 85, 79}, rules.Low: {90, 75, 81}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, rule(kind, func(r *rules.Rule) { r.Limit, r.OnDelay, r.Deadband = 80, 10*time.Second, 2 }))
			defer p.stop()
			for _, v := range values {
				p.set(v)
				time.Sleep(time.Second)
			}
			time.Sleep(10 * time.Second)
			alarm := p.active()
			require.NotNil(t, alarm, kind)
			require.Contains(t, alarm.Message, fmt.Sprintf("is %v °C", values[1]))
			require.Equal(t, fmt.Sprint(values[1]), alarm.Cause.Value)
		})
	}
}
