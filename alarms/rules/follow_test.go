package rules_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// following returns n engines that share a store. Each evaluates the samples of its own set.
func following(t *testing.T, n int, first ...rules.Rule) []*plant {
	store := &flaky{memory: newMemory()}
	for _, r := range first {
		require.NoError(t, store.AddRule(t.Context(), r))
	}
	list := make([]*plant, n)
	for i := range list {
		p := &plant{t: t, store: store}
		p.join()
		list[i] = p
	}
	return list
}

// join starts an engine that is not the only one.
func (p *plant) join() {
	p.t.Helper()
	var err error
	p.service, err = alarms.New(p.t.Context(), p.store, alarms.Options{})
	require.NoError(p.t, err)
	p.rules, err = rules.New(p.t.Context(), p.store, p.service, rules.Options{PollInterval: 250 * time.Millisecond})
	require.NoError(p.t, err)
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestRulesOfOtherEnginesAreTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delayed := rule(rules.High, func(r *rules.Rule) { r.ID, r.Tag, r.OnDelay = "delayed", "other", 10*time.Second })
		two := following(t, 2, delayed)
		here, there := two[0], two[1]
		defer here.stop()
		defer there.stop()
		limit := func(limit float64, enabled bool) {
			_, err := there.rules.Update(t.Context(), "r", func(r *rules.Rule) error { r.Limit, r.Enabled = limit, enabled; return nil })
			require.NoError(t, err)
		}
		here.set(90) // no rule looks at it yet
		_, err := there.rules.Add(t.Context(), rule(rules.High, nil))
		require.NoError(t, err)
		pass(300 * time.Millisecond)
		here.set(91)
		here.requireActive(true, "a rule that was added on the other engine")
		limit(95, true)
		pass(300 * time.Millisecond)
		here.requireActive(false, "its limit is another one")
		limit(80, true)
		pass(300 * time.Millisecond)
		here.requireActive(true, "and the old one again")
		limit(80, false)
		pass(300 * time.Millisecond)
		here.requireActive(false, "it is disabled")
		here.set(92)
		here.requireActive(false, "it stays disabled")
		limit(80, true)
		pass(300 * time.Millisecond)
		here.set(92)
		here.requireActive(true, "it is enabled")
		require.NoError(t, there.rules.Remove(t.Context(), "r", "anna", nil))
		pass(300 * time.Millisecond)
		here.requireActive(false, "it is removed")
		here.set(93)
		here.requireActive(false, "it is no more")

		here.sample("other", tags.FloatValue(90), tags.Good, tags.ReasonNone)
		pass(6 * time.Second)
		_, err = there.rules.Add(t.Context(), rule(rules.Low, func(r *rules.Rule) { r.ID = "another" }))
		require.NoError(t, err)
		pass(3900 * time.Millisecond)
		here.requireActive(false, "the delay has not ended")
		pass(200 * time.Millisecond)
		here.requireActive(true, "the delay was not begun anew by the change of another rule")
	})
}

// TestAlarmStandsThoughAnotherEngineClearsIt changes a rule twice before the engine that judges it looks:
// the other one has cleared its alarm in between.
func TestAlarmStandsThoughAnotherEngineClearsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := following(t, 1, rule(rules.High, nil))
		here := two[0]
		defer here.stop()
		here.set(90)
		here.requireActive(true, "raised")
		there := &plant{t: t, store: here.store}
		there.join()
		defer there.stop()
		for _, enabled := range []bool{false, true} {
			_, err := there.rules.Update(t.Context(), "r", func(r *rules.Rule) error { r.Enabled = enabled; return nil })
			require.NoError(t, err)
		}
		here.requireActive(false, "cleared by the other engine")
		pass(3 * time.Second)
		here.requireActive(true, "what is wrong lasts")
		pass(time.Minute)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared, alarms.Raised}, here.kinds())
	})
}

// TestAlarmClearedByAnotherEngineInItsOffDelay has the alarm raised again when what is wrong comes back
// before the delay would have ended.
func TestAlarmClearedByAnotherEngineInItsOffDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := following(t, 1, rule(rules.High, func(r *rules.Rule) { r.OffDelay = time.Minute }))[0]
		defer here.stop()
		here.set(90)
		here.requireActive(true, "raised")
		there := &plant{t: t, store: here.store}
		there.join()
		defer there.stop()
		here.set(70)
		for _, enabled := range []bool{false, true} {
			_, err := there.rules.Update(t.Context(), "r", func(r *rules.Rule) error { r.Enabled = enabled; return nil })
			require.NoError(t, err)
		}
		here.requireActive(false, "cleared by the other engine")
		pass(3 * time.Second)
		here.set(90)
		here.requireActive(true, "what was wrong comes back")
	})
}

func TestRulesThatCannotBeFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &blind{memory: newMemory()}
		service, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		r, err := rules.New(t.Context(), store, service, rules.Options{PollInterval: time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close(t.Context())) }()
		store.fails.Store(true)
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
		pass(time.Minute)
		require.Zero(t, r.Stats().Rules)
		store.fails.Store(false)
		pass(2 * time.Second)
		require.Equal(t, 1, r.Stats().Rules)
	})
}

var errStore = errors.New("no connection")

// blind is a store that fails to give rules, or does something after it has given them, or has some that
// cannot be read.
type blind struct {
	memory
	fails      atomic.Bool
	given      func()
	unreadable string
}

func (b *blind) Rules(ctx context.Context) ([]rules.Rule, error) {
	if b.fails.Load() {
		return nil, errStore
	}
	list, err := b.memory.Rules(ctx)
	for i := range list {
		if list[i].ID == b.unreadable {
			list[i] = rules.Rule{ID: b.unreadable, Unreadable: true}
		}
	}
	if b.given != nil {
		b.given()
	}
	return list, err
}

func TestStartBesideAnEngineThatAddsARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &blind{memory: newMemory()}
		service, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		store.given = func() { // by the other engine
			store.given = nil
			require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
			_, err := service.Raise(t.Context(), alarms.Alarm{Key: "rule:r", Source: "t", Severity: alarms.Error})
			require.NoError(t, err)
		}
		rules, err := rules.New(t.Context(), store, service, rules.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, rules.Close(t.Context())) }()
		pass(time.Second)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, service))
	})
}

func TestRuleThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &blind{memory: newMemory(), unreadable: "r"}
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, func(r *rules.Rule) { r.ID = "good" })))
		service, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		_, err = service.Raise(t.Context(), alarms.Alarm{Key: "rule:r", Source: "t", Severity: alarms.Error})
		require.NoError(t, err)
		rules, err := rules.New(t.Context(), store, service, rules.Options{})
		require.NoError(t, err, "the others are judged")
		defer func() { require.NoError(t, rules.Close(t.Context())) }()
		pass(time.Second)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, service), "its alarm stays")
		require.Equal(t, 1, rules.Stats().Rules)
		require.Equal(t, 1, rules.Stats().Unreadable)
		list, err := rules.List(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.NoError(t, rules.Remove(t.Context(), "r", "anna", nil))
		pass(time.Second)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, kinds(t, service))
		require.Zero(t, rules.Stats().Unreadable)
	})
}

// TestAlarmIsNotRaisedAgainByWhoDoesNotSeeTheTag has another engine, which has lost the tag, leave the word to
// the one that sees it.
func TestAlarmIsNotRaisedAgainByWhoDoesNotSeeTheTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := following(t, 2, rule(rules.High, nil))
		here, there := two[0], two[1]
		defer here.stop()
		defer there.stop()
		change := func(id string) { // of some rule, after which alarms are looked at again
			_, err := here.rules.Add(t.Context(), rule(rules.Low, func(r *rules.Rule) { r.ID, r.Tag = id, "u" }))
			require.NoError(t, err)
			pass(time.Minute)
		}
		here.set(90)
		there.set(90)
		there.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonNotConnected)
		here.requireActive(true, "raised")
		here.set(70)
		here.requireActive(false, "normal")
		change("another")
		here.requireActive(false, "still normal by whoever sees the tag")
		there.set(90)
		here.requireActive(true, "the other one sees it again, and something else")
	})
}
