package alarmstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// RuleStore is what TestRuleStore checks.
type RuleStore interface {
	alarms.RuleStore
	alarms.RuleStateStore
}

// TestRuleStore checks a store against the contracts of alarms.RuleStore and alarms.RuleStateStore.
// open and reopen are as for TestStore.
func TestRuleStore(t *testing.T, open func(testing.TB) (s RuleStore, reopen func() RuleStore)) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, RuleStore, func() RuleStore)
	}{
		{"Rules", testRules},
		{"EveryMember", testRuleMembers},
		{"Update", testRuleUpdate},
		{"Version", testRuleVersion},
		{"ParallelUpdates", testRuleParallel},
		{"States", testRuleStates},
		{"Reopen", testRuleReopen},
	} {
		t.Run(part.name, func(t *testing.T) {
			s, reopen := open(t)
			part.run(t, s, reopen)
		})
	}
}

func rule(id string) alarms.Rule {
	return alarms.Rule{ID: id, Name: "too hot", Tag: "press.temperature", Kind: alarms.High, Limit: 80, Severity: alarms.Warning, Enabled: true}
}

func testRules(t *testing.T, s RuleStore, _ func() RuleStore) {
	ctx := t.Context()
	list, err := s.Rules(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = s.Rule(ctx, "a")
	require.ErrorIs(t, err, alarms.ErrRuleNotFound)
	require.ErrorIs(t, s.RemoveRule(ctx, "a"), alarms.ErrRuleNotFound)
	require.ErrorIs(t, s.UpdateRule(ctx, "a", func(*alarms.Rule) error { return nil }), alarms.ErrRuleNotFound)
	for _, id := range []string{"b", "a", "c", "B"} {
		require.NoError(t, s.AddRule(ctx, rule(id)))
	}
	require.ErrorIs(t, s.AddRule(ctx, rule("a")), alarms.ErrRuleExists)
	require.NoError(t, s.RemoveRule(ctx, "c"))
	list, err = s.Rules(ctx)
	require.NoError(t, err)
	require.Equal(t, []alarms.Rule{rule("B"), rule("a"), rule("b")}, list, "by ID, in the order of its bytes")
	got, err := s.Rule(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, rule("a"), got)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, s.AddRule(canceled, rule("d")))
}

func testRuleMembers(t *testing.T, s RuleStore, _ func() RuleStore) {
	for i, r := range []alarms.Rule{
		{ID: "deviation", Name: "größe ' \" %", Tag: "温度", Kind: alarms.Deviation, Limit: 0.1, Setpoint: -1e300, SetpointTag: "sp", Deadband: 0.05},
		{ID: "rate", Tag: "t", Kind: alarms.RateOfChange, Limit: 1.0 / 3, Window: 90 * time.Second, OnDelay: time.Millisecond, OffDelay: 24 * time.Hour},
		{ID: "state", Tag: "t", Kind: alarms.Discrete, States: []string{"true", "", "1,2", "温度"}, Latching: true, Severity: alarms.Critical, Message: "{tag} {{", Group: "1", Enabled: true},
		{ID: "a.b:c_d-E", Tag: "t", Kind: alarms.Stale, Severity: alarms.Error},
	} {
		require.NoError(t, s.AddRule(t.Context(), r))
		got, err := s.Rule(t.Context(), r.ID)
		require.NoError(t, err)
		require.Equal(t, r, got, "rule %d", i)
	}
}

func testRuleUpdate(t *testing.T, s RuleStore, _ func() RuleStore) {
	ctx := t.Context()
	require.NoError(t, s.AddRule(ctx, rule("a")))
	require.NoError(t, s.UpdateRule(ctx, "a", func(r *alarms.Rule) error {
		r.ID, r.Limit, r.Enabled = "other", 90, false
		return nil
	}))
	want := rule("a")
	want.Limit, want.Enabled = 90, false
	got, err := s.Rule(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, want, got, "ID cannot be changed")
	stop := errors.New("stop")
	require.ErrorIs(t, s.UpdateRule(ctx, "a", func(r *alarms.Rule) error { r.Limit = 1; return stop }), stop)
	got, err = s.Rule(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func testRuleVersion(t *testing.T, s RuleStore, _ func() RuleStore) {
	ctx := t.Context()
	seen := map[int64]bool{}
	fresh := func(what string) {
		t.Helper()
		v, err := s.RulesVersion(ctx)
		require.NoError(t, err)
		require.False(t, seen[v], what)
		seen[v] = true
	}
	fresh("at first")
	require.NoError(t, s.AddRule(ctx, rule("a")))
	fresh("after adding")
	require.NoError(t, s.UpdateRule(ctx, "a", func(r *alarms.Rule) error { r.Limit = 1; return nil }))
	fresh("after an update")
	require.NoError(t, s.RemoveRule(ctx, "a"))
	fresh("after removing")
	last, err := s.RulesVersion(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, s.RemoveRule(ctx, "a"), alarms.ErrRuleNotFound)
	require.NoError(t, s.PutRuleStates(ctx, []alarms.RuleState{{RuleID: "a", Phase: alarms.PhaseNormal}}))
	now, err := s.RulesVersion(ctx)
	require.NoError(t, err)
	require.Equal(t, last, now, "nothing was changed")
}

func testRuleParallel(t *testing.T, s RuleStore, _ func() RuleStore) {
	require.NoError(t, s.AddRule(t.Context(), rule("a")))
	var wg sync.WaitGroup
	const parallel = 20
	for range parallel {
		wg.Go(func() {
			if err := s.UpdateRule(t.Context(), "a", func(r *alarms.Rule) error { r.Limit++; return nil }); err != nil {
				t.Errorf("UpdateRule: %v", err)
			}
		})
	}
	wg.Wait()
	got, err := s.Rule(t.Context(), "a")
	require.NoError(t, err)
	require.InDelta(t, 80+parallel, got.Limit, 0, "no update is lost")
}

func testRuleStates(t *testing.T, s RuleStore, _ func() RuleStore) {
	ctx := t.Context()
	require.NoError(t, s.PutRuleStates(ctx, nil))
	const n = 1000
	states := make([]alarms.RuleState, n)
	for i := range states {
		id := fmt.Sprintf("r%04d", i)
		require.NoError(t, s.AddRule(ctx, rule(id)))
		states[i] = alarms.RuleState{RuleID: id, Phase: alarms.PhaseOn, Since: noon.Add(time.Duration(i) * time.Microsecond)}
	}
	require.NoError(t, s.PutRuleStates(ctx, states[:n/2]))
	for i := range n / 4 {
		states[i].Phase, states[i].Since = alarms.PhaseActive, noon.Add(time.Hour)
	}
	unknown := alarms.RuleState{RuleID: "unknown", Phase: alarms.PhaseOff, Since: noon}
	require.NoError(t, s.PutRuleStates(ctx, append([]alarms.RuleState{unknown}, states...)))
	requireStates(t, s, states)
	require.NoError(t, s.RemoveRule(ctx, states[0].RuleID))
	requireStates(t, s, states[1:])
	require.NoError(t, s.AddRule(ctx, rule(states[0].RuleID)))
	requireStates(t, s, states[1:])
	require.NoError(t, s.UpdateRule(ctx, states[1].RuleID, func(r *alarms.Rule) error { r.Limit = 1; return nil }))
	requireStates(t, s, states[1:])
}

func requireStates(t *testing.T, s RuleStore, want []alarms.RuleState) {
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

func testRuleReopen(t *testing.T, s RuleStore, reopen func() RuleStore) {
	if reopen == nil {
		t.Skip("the store keeps nothing over a restart")
	}
	require.NoError(t, s.AddRule(t.Context(), rule("a")))
	state := alarms.RuleState{RuleID: "a", Phase: alarms.PhaseOff, Since: noon}
	require.NoError(t, s.PutRuleStates(t.Context(), []alarms.RuleState{state}))
	s = reopen()
	got, err := s.Rule(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, rule("a"), got)
	requireStates(t, s, []alarms.RuleState{state})
}
