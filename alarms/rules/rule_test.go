package rules_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

func TestRuleValidation(t *testing.T) {
	for _, kind := range rules.Kinds() {
		r := rule(kind, func(r *rules.Rule) {
			switch kind {
			case rules.Deviation:
				r.Limit = 1
			case rules.RateOfChange:
				r.Limit, r.Window = 1, time.Minute
			case rules.Discrete:
				r.States = []string{"true"}
			}
		})
		require.NoError(t, r.Validate(), kind)
	}
	for _, c := range []struct {
		field  string
		kind   rules.Kind
		change func(*rules.Rule)
	}{
		{"id", rules.High, func(r *rules.Rule) { r.ID = "" }},
		{"id", rules.High, func(r *rules.Rule) { r.ID = "a/b" }},
		{"id", rules.High, func(r *rules.Rule) { r.ID = ".." }},
		{"id", rules.High, func(r *rules.Rule) { r.ID = strings.Repeat("a", 129) }},
		{"name", rules.High, func(r *rules.Rule) { r.Name = strings.Repeat("a", 257) }},
		{"tagName", rules.High, func(r *rules.Rule) { r.Tag = "" }},
		{"tagName", rules.High, func(r *rules.Rule) { r.Tag = "\xff" }},
		{"kind", rules.High, func(r *rules.Rule) { r.Kind = "high" }},
		{"limit", rules.High, func(r *rules.Rule) { r.Limit = math.NaN() }},
		{"limit", rules.High, func(r *rules.Rule) { r.Limit = math.Inf(1) }},
		{"limit", rules.Deviation, func(r *rules.Rule) { r.Limit = 0 }},
		{"setpoint", rules.Deviation, func(r *rules.Rule) { r.Limit, r.Setpoint = 1, math.NaN() }},
		{"setpoint", rules.High, func(r *rules.Rule) { r.Setpoint = 1 }},
		{"deadband", rules.High, func(r *rules.Rule) { r.Deadband = -1 }},
		{"deadband", rules.High, func(r *rules.Rule) { r.Deadband = math.NaN() }},
		{"deadband", rules.Deviation, func(r *rules.Rule) { r.Limit, r.Deadband = 1, 2 }},
		{"deadband", rules.Stale, func(r *rules.Rule) { r.Deadband = 1 }},
		{"windowMs", rules.RateOfChange, func(r *rules.Rule) { r.Limit = 1 }},
		{"windowMs", rules.RateOfChange, func(r *rules.Rule) { r.Limit, r.Window = 1, 25*time.Hour }},
		{"windowMs", rules.High, func(r *rules.Rule) { r.Window = time.Minute }},
		{"states", rules.Discrete, nil},
		{"states", rules.High, func(r *rules.Rule) { r.States = []string{"x"} }},
		{"states[1]", rules.Discrete, func(r *rules.Rule) { r.States = []string{"x", "\xff"} }},
		{"onDelayMs", rules.High, func(r *rules.Rule) { r.OnDelay = -1 }},
		{"onDelayMs", rules.High, func(r *rules.Rule) { r.OnDelay = time.Microsecond }},
		{"offDelayMs", rules.High, func(r *rules.Rule) { r.OffDelay = 25 * time.Hour }},
		{"severity", rules.High, func(r *rules.Rule) { r.Severity = 4 }},
		{"message", rules.High, func(r *rules.Rule) { r.Message = "{password}" }},
		{"message", rules.High, func(r *rules.Rule) { r.Message = "{tag" }},
		{"message", rules.High, func(r *rules.Rule) { r.Message = "tag}" }},
		{"group", rules.High, func(r *rules.Rule) { r.Group = strings.Repeat("a", 257) }},
	} {
		r := rule(c.kind, c.change)
		err := r.Validate()
		require.ErrorIs(t, err, rules.ErrInvalid, "%s: %+v", c.field, r)
		f, _ := fault.From(err)
		require.Len(t, f.Fields, 1, "%s: %v", c.field, err)
		require.Equal(t, c.field, f.Fields[0].Field)
	}
}

func TestRuleJSON(t *testing.T) {
	r := rule(rules.RateOfChange, func(r *rules.Rule) {
		r.Name, r.Limit, r.Window, r.OnDelay, r.Latching, r.Instructions, r.Group = "too quick", 0.5, time.Minute, 1500*time.Millisecond, true, "Wait.", "1"
	})
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"r","name":"too quick","tagName":"t","kind":"RateOfChange","limit":0.5,"windowMs":60000,"onDelayMs":1500,
		"latching":true,"severity":"Error","instructions":"Wait.","group":"1","enabled":true}`, string(text))
	var got rules.Rule
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, r, got)
	require.NoError(t, json.Unmarshal([]byte(`{"id":"x","tagName":"t","kind":"High","limit":1,"severity":"Info","other":[]}`), &got))
	require.True(t, got.Enabled, "a rule is enabled unless it says that it is not")
	require.Zero(t, got.Window)
	for _, bad := range []string{`[]`, `{"limit":"1"}`, `{"severity":"Fatal"}`, `{"severity":2}`, `{"onDelayMs":-1}`, `{"windowMs":9223372036854775807}`, `{"onDelayMs":1.5}`} {
		require.ErrorIs(t, json.Unmarshal([]byte(bad), &got), rules.ErrInvalid, bad)
	}
}

// FuzzRule has any JSON read as a rule: one that is valid survives being written and read again, and
// can be evaluated over any number.
func FuzzRule(f *testing.F) {
	for _, s := range []string{
		`{"id":"r","tagName":"t","kind":"High","limit":80,"deadband":2,"severity":"Critical","message":"{tag} {{x}} {value}"}`,
		`{"id":"r","tagName":"t","kind":"Deviation","limit":1e308,"setpoint":-1e308,"severity":"Info"}`,
		`{"id":"r","tagName":"t","kind":"RateOfChange","limit":1,"windowMs":1000,"severity":"Warning","latching":true}`,
		`{"id":"r","tagName":"t","kind":"State","states":["1","true"],"severity":"Error","onDelayMs":5}`,
		`{"id":"r","tagName":"t","kind":"Stale","severity":"Error","enabled":false}`, `{}`, `null`, `{"message":"}{"}`,
	} {
		f.Add([]byte(s), 1.0, -1e308)
	}
	f.Fuzz(func(t *testing.T, text []byte, a, b float64) {
		var r rules.Rule
		if json.Unmarshal(text, &r) != nil || r.Validate() != nil {
			return
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		var back rules.Rule
		require.NoError(t, json.Unmarshal(again, &back))
		if len(r.States) == 0 {
			r.States, back.States = nil, nil
		}
		require.Equal(t, r, back)
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, r)
			for _, v := range []float64{a, b, a} {
				p.sample(r.Tag, tags.FloatValue(v), tags.Good, tags.ReasonNone)
				time.Sleep(time.Second)
			}
			synctest.Wait()
			require.NoError(t, p.rules.Stats().Err)
			p.stop()
		})
	})
}

func TestJSONOfACodedRule(t *testing.T) {
	r := rules.WithCode{Rule: rule(rules.High, nil), Code: 7}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"r","name":"","tagName":"t","kind":"High","limit":80,"severity":"Error","enabled":true,"code":7}`, string(text))
	var back rules.WithCode
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r, back)
	require.ErrorIs(t, json.Unmarshal([]byte(`{"code":"7"}`), &back), rules.ErrInvalid)
}

// TestARequestLeavesNothingToGuess reads rules as clients give them.
func TestARequestLeavesNothingToGuess(t *testing.T) {
	const deviation = `{"id":"r","tagName":"t","kind":"Deviation","limit":1,"severity":"Info"`
	for text, field := range map[string]string{
		`{"id":"r","tagName":"t","kind":"High","limit":1}`:                 "severity",
		`{"id":"r","tagName":"t","kind":"High","limit":1,"severity":null}`: "severity",
		`{"id":"r","tagName":"t","kind":"High","severity":"Info"}`:         "limit",
		deviation + `}`: "setpoint",
		deviation + `,"setpoint":0,"setpointTag":"s"}`: "setpoint",
		deviation + `,"setpoint":0}`:                   "",
		deviation + `,"setpointTag":"s"}`:              "",
	} {
		var r rules.Request
		require.NoError(t, json.Unmarshal([]byte(text), &r), text)
		err := r.Validate()
		if field == "" {
			require.NoError(t, err, text)
			again, err := json.Marshal(r)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(again, &r), "%s", again)
			require.NoError(t, r.Validate(), "%s", again)
			continue
		}
		require.ErrorIs(t, err, rules.ErrInvalid, text)
		f, _ := fault.From(err)
		require.Len(t, f.Fields, 1, "%s: %v", text, err)
		require.Equal(t, field, f.Fields[0].Field, text)
	}
}

func TestJSONOfABadRuleNamesTheMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"states":[true]}`:     "states cannot be of type bool",
		`{"limit":"80"}`:        "limit cannot be of type string",
		`{"severity":"warn"}`:   "severity must be Info, Warning, Error or Critical",
		`{"onDelayMs":"soon"}`:  "onDelayMs cannot be of type string",
		`[]`:                    "cannot be of type array",
		`{"deadband":{"of":1}}`: "deadband cannot be of type object",
	} {
		var r rules.Rule
		require.ErrorContains(t, json.Unmarshal([]byte(text), &r), want)
	}
}
