package rules_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

func TestStatusOfRulesThatOnlyObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		high := rule(rules.High, nil)
		stale := rule(rules.Stale, func(r *rules.Rule) { r.ID = "stale" })
		p := newPlant(t, high, stale)
		defer p.stop()
		requireState := func(r rules.Rule, want rules.EvaluationState, detail string) {
			t.Helper()
			got := p.rules.Status(&r)
			require.Equal(t, want, got.State)
			require.Contains(t, got.Detail, detail)
		}
		requireState(high, rules.EvaluationTagNotFound, "tag t does not exist")
		p.set(5)
		requireState(high, rules.EvaluationRunning, "")
		require.Equal(t, rules.Status{State: rules.EvaluationRunning, Value: tags.FloatValue(5), At: time.Now()}, p.rules.Status(&high))
		p.sample("t", tags.FloatValue(5), tags.Bad, tags.ReasonStale)
		requireState(high, rules.EvaluationBadQuality, "tag t: ")
		requireState(stale, rules.EvaluationRunning, "")
		p.sample("t", tags.FloatValue(5), tags.Bad, tags.ReasonNotConnected)
		requireState(stale, rules.EvaluationBadQuality, "")
		p.sample("t", tags.StringValue("5"), tags.Good, tags.ReasonNone)
		requireState(high, rules.EvaluationWrongType, "High is for tags of type Int or Float; tag t is String")
		p.sample("t", tags.FloatValue(5), tags.Bad, tags.ReasonRemoved)
		requireState(high, rules.EvaluationTagNotFound, "")
		high.Enabled = false
		requireState(high, rules.EvaluationDisabled, "")
	})
}

func TestJSONOfTheStatusOfARule(t *testing.T) {
	r := rules.WithCode{Rule: rule(rules.High, nil), Code: 7, Status: rules.Status{State: rules.EvaluationBadQuality, Detail: "why",
		Value: tags.IntValue(4), At: time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)}}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"r","name":"","tagName":"t","kind":"High","limit":80,"severity":"Error","enabled":true,"code":7,
		"state":"BadQuality","stateDetail":"why","lastValue":{"int64Value":4},"lastValueAt":"2024-02-29T01:02:03Z"}`, string(text))
	var back rules.WithCode
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r, back)
}
