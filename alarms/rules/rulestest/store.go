package rulestest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// TestStore checks a store against the contract of rules.Store, and against those of the optional interfaces that it
// implements: rules.Pager, Versioner and StateStore. open makes an empty store and closes it with t.Cleanup; it is called
// for each part of the suite. reopen closes that store and opens what it left on disk; nil if nothing survives.
func TestStore(t *testing.T, open func(testing.TB) (s rules.Store, reopen func() rules.Store)) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, rules.Store, func() rules.Store)
	}{
		{"Rules", testRules},
		{"Pages", testRulePages},
		{"EveryMember", testRuleMembers},
		{"Update", testRuleUpdate},
		{"Version", testRuleVersion},
		{"ParallelUpdates", testRuleParallel},
		{"States", testRuleStates},
		{"Reopen", testRuleReopen},
		{"ReopenStates", testStateReopen},
	} {
		t.Run(part.name, func(t *testing.T) {
			s, reopen := open(t)
			part.run(t, s, reopen)
		})
	}
}

var noon = time.Date(2024, 2, 28, 12, 0, 0, 0, time.UTC)

func rule(id string) rules.Rule {
	return rules.Rule{ID: id, Name: "too hot", Tag: "press.temperature", Kind: rules.High, Limit: 80, Severity: alarms.Warning, Enabled: true}
}

func testRules(t *testing.T, s rules.Store, _ func() rules.Store) {
	ctx := t.Context()
	list, err := s.Rules(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = s.Rule(ctx, "a")
	require.ErrorIs(t, err, rules.ErrNotFound)
	require.ErrorIs(t, s.RemoveRule(ctx, "a", nil), rules.ErrNotFound)
	require.ErrorIs(t, s.UpdateRule(ctx, "a", func(*rules.Rule) error { return nil }), rules.ErrNotFound)
	for _, id := range []string{"b", "a", "c", "B"} {
		require.NoError(t, s.AddRule(ctx, rule(id)))
	}
	require.ErrorIs(t, s.AddRule(ctx, rule("a")), rules.ErrExists)
	changed := errors.New("changed")
	require.ErrorIs(t, s.RemoveRule(ctx, "c", func(r rules.Rule) error {
		require.Equal(t, rule("c"), r)
		return changed
	}), changed)
	require.ErrorIs(t, s.RemoveRule(ctx, "z", func(rules.Rule) error { return changed }), rules.ErrNotFound)
	_, err = s.Rule(ctx, "c")
	require.NoError(t, err, "it is not removed")
	require.NoError(t, s.RemoveRule(ctx, "c", func(rules.Rule) error { return nil }))
	list, err = s.Rules(ctx)
	require.NoError(t, err)
	require.Equal(t, []rules.Rule{rule("B"), rule("a"), rule("b")}, list, "by ID, in the order of its bytes")
	got, err := s.Rule(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, rule("a"), got)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, s.AddRule(canceled, rule("d")))
}

func testRulePages(t *testing.T, s rules.Store, _ func() rules.Store) {
	pager := optional[rules.Pager](t, s)
	ctx := t.Context()
	page := func(q rules.Query, total int, want ...string) {
		t.Helper()
		list, n, err := pager.RulePage(ctx, q)
		require.NoError(t, err)
		require.Equal(t, total, n, "the number of all of %+v", q)
		ids := []string{}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		require.Equal(t, append([]string{}, want...), ids, "%+v", q)
	}
	page(rules.Query{Limit: 10}, 0)
	for _, id := range []string{"d", "b", "a", "c", "B"} {
		r := rule(id)
		if id == "b" || id == "d" {
			r.Tag = "pump.speed"
		}
		require.NoError(t, s.AddRule(ctx, r))
		if id == "a" {
			page(rules.Query{Limit: 10}, 3, "a", "b", "d")
		}
	}
	page(rules.Query{Limit: 2}, 5, "B", "a")
	page(rules.Query{Offset: 2, Limit: 2}, 5, "b", "c")
	page(rules.Query{Offset: 4, Limit: 2}, 5, "d")
	page(rules.Query{Offset: 5, Limit: 2}, 5)
	page(rules.Query{Offset: 1 << 30, Limit: 2}, 5)
	page(rules.Query{Limit: 0}, 5)
	page(rules.Query{Tag: "pump.speed", Limit: 1}, 2, "b")
	page(rules.Query{Tag: "pump.speed", Offset: 1, Limit: 5}, 2, "d")
	page(rules.Query{Tag: "PUMP.speed", Limit: 5}, 0)
	require.NoError(t, s.UpdateRule(ctx, "b", func(r *rules.Rule) error { r.Tag = "other"; return nil }))
	page(rules.Query{Tag: "pump.speed", Limit: 5}, 1, "d")
	require.NoError(t, s.RemoveRule(ctx, "a", nil))
	page(rules.Query{Limit: 10}, 4, "B", "b", "c", "d")
	list, _, err := pager.RulePage(ctx, rules.Query{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []rules.Rule{rule("B")}, list)
}

func testRuleMembers(t *testing.T, s rules.Store, _ func() rules.Store) {
	for i, r := range []rules.Rule{
		{ID: "deviation", Name: "größe ' \" %", Tag: "温度", Kind: rules.Deviation, Limit: 0.1, Setpoint: -1e300, SetpointTag: "sp", Deadband: 0.05},
		{ID: "rate", Tag: "t", Kind: rules.RateOfChange, Limit: 1.0 / 3, Window: 90 * time.Second, OnDelay: time.Millisecond, OffDelay: 24 * time.Hour},
		{ID: "state", Tag: "t", Kind: rules.Discrete, States: []string{"true", "", "1,2", "温度"}, Latching: true, Severity: alarms.Critical, Message: "{tag} {{", Group: "1", Enabled: true},
		{ID: "a.b:c_d-E", Tag: "t", Kind: rules.Stale, Severity: alarms.Error},
	} {
		require.NoError(t, s.AddRule(t.Context(), r))
		got, err := s.Rule(t.Context(), r.ID)
		require.NoError(t, err)
		require.Equal(t, r, got, "rule %d", i)
	}
}

func testRuleUpdate(t *testing.T, s rules.Store, _ func() rules.Store) {
	ctx := t.Context()
	require.NoError(t, s.AddRule(ctx, rule("a")))
	require.NoError(t, s.UpdateRule(ctx, "a", func(r *rules.Rule) error {
		r.ID, r.Limit, r.Enabled = "other", 90, false
		return nil
	}))
	want := rule("a")
	want.Limit, want.Enabled = 90, false
	got, err := s.Rule(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, want, got, "ID cannot be changed")
	stop := errors.New("stop")
	require.ErrorIs(t, s.UpdateRule(ctx, "a", func(r *rules.Rule) error { r.Limit = 1; return stop }), stop)
	got, err = s.Rule(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func testRuleVersion(t *testing.T, s rules.Store, _ func() rules.Store) {
	versioner := optional[rules.Versioner](t, s)
	ctx := t.Context()
	seen := map[int64]bool{}
	fresh := func(what string) {
		t.Helper()
		v, err := versioner.RulesVersion(ctx)
		require.NoError(t, err)
		require.False(t, seen[v], what)
		seen[v] = true
	}
	fresh("at first")
	require.NoError(t, s.AddRule(ctx, rule("a")))
	fresh("after adding")
	require.NoError(t, s.UpdateRule(ctx, "a", func(r *rules.Rule) error { r.Limit = 1; return nil }))
	fresh("after an update")
	require.NoError(t, s.UpdateRule(ctx, "a", func(*rules.Rule) error { return nil }))
	fresh("after an update that leaves the rule as it was")
	require.NoError(t, s.RemoveRule(ctx, "a", nil))
	fresh("after removing")
	last, err := versioner.RulesVersion(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, s.RemoveRule(ctx, "a", nil), rules.ErrNotFound)
	if states, ok := s.(rules.StateStore); ok {
		require.NoError(t, states.PutRuleStates(ctx, []rules.State{{RuleID: "a", Phase: rules.PhaseNormal}}))
	}
	now, err := versioner.RulesVersion(ctx)
	require.NoError(t, err)
	require.Equal(t, last, now, "nothing was changed")
}

func testRuleParallel(t *testing.T, s rules.Store, _ func() rules.Store) {
	require.NoError(t, s.AddRule(t.Context(), rule("a")))
	var wg sync.WaitGroup
	const parallel = 20
	for range parallel {
		wg.Go(func() {
			if err := s.UpdateRule(t.Context(), "a", func(r *rules.Rule) error { r.Limit++; return nil }); err != nil {
				t.Errorf("UpdateRule: %v", err)
			}
		})
	}
	wg.Wait()
	got, err := s.Rule(t.Context(), "a")
	require.NoError(t, err)
	require.InDelta(t, 80+parallel, got.Limit, 0, "no update is lost")
}

func testRuleStates(t *testing.T, s rules.Store, _ func() rules.Store) {
	ctx, kept := t.Context(), optional[rules.StateStore](t, s)
	require.NoError(t, kept.PutRuleStates(ctx, nil))
	const n = 1000
	states := make([]rules.State, n)
	for i := range states {
		id := fmt.Sprintf("r%04d", i)
		require.NoError(t, s.AddRule(ctx, rule(id)))
		states[i] = rules.State{RuleID: id, Phase: rules.PhaseOnDelay, Since: noon.Add(time.Duration(i) * time.Microsecond)}
	}
	require.NoError(t, kept.PutRuleStates(ctx, states[:n/2]))
	for i := range n / 4 {
		states[i].Phase, states[i].Since = rules.PhaseActive, noon.Add(time.Hour)
	}
	unknown := rules.State{RuleID: "unknown", Phase: rules.PhaseOffDelay, Since: noon}
	require.NoError(t, kept.PutRuleStates(ctx, append([]rules.State{unknown}, states...)))
	requireStates(t, kept, states)
	require.NoError(t, s.RemoveRule(ctx, states[0].RuleID, nil))
	requireStates(t, kept, states[1:])
	require.NoError(t, s.AddRule(ctx, rule(states[0].RuleID)))
	requireStates(t, kept, states[1:])
	require.NoError(t, s.UpdateRule(ctx, states[1].RuleID, func(r *rules.Rule) error { r.Limit = 1; return nil }))
	requireStates(t, kept, states[1:])
}

func requireStates(t *testing.T, s rules.StateStore, want []rules.State) {
	t.Helper()
	got, err := s.RuleStates(t.Context())
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, want[i].Since.Equal(got[i].Since), "Since of %s", want[i].RuleID)
		got[i].Since = want[i].Since
		require.Equal(t, want[i], got[i])
	}
}

func testRuleReopen(t *testing.T, s rules.Store, reopen func() rules.Store) {
	if reopen == nil {
		t.Skip("the store keeps nothing over a restart")
	}
	require.NoError(t, s.AddRule(t.Context(), rule("a")))
	got, err := reopen().Rule(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, rule("a"), got)
}

func testStateReopen(t *testing.T, s rules.Store, reopen func() rules.Store) {
	states := optional[rules.StateStore](t, s)
	if reopen == nil {
		t.Skip("the store keeps nothing over a restart")
	}
	require.NoError(t, s.AddRule(t.Context(), rule("a")))
	state := rules.State{RuleID: "a", Phase: rules.PhaseOffDelay, Since: noon}
	require.NoError(t, states.PutRuleStates(t.Context(), []rules.State{state}))
	requireStates(t, optional[rules.StateStore](t, reopen()), []rules.State{state})
}

// optional returns the store as an optional interface, and skips the test if it does not implement it.
func optional[T any](t *testing.T, s rules.Store) T {
	t.Helper()
	own, ok := s.(T)
	if !ok {
		t.Skipf("the store does not implement %v", reflect.TypeFor[T]())
	}
	return own
}
