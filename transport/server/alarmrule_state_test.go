package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/tags"
)

func TestRulesThatATypeExcludesAreRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct {
		change map[string]any
		field  string // that is wrong; empty for a rule that is taken
		words  string
	}{
		{map[string]any{"kind": "High", "tagName": "line.image"}, "kind", "High is for tags of type Int or Float; tag line.image is Bytes"},
		{map[string]any{"kind": "LowLow", "tagName": "line.note"}, "kind", "tag line.note is String"},
		{map[string]any{"kind": "High", "tagName": "line.flag"}, "kind", "tag line.flag is Bool"},
		{map[string]any{"kind": "RateOfChange", "tagName": "line.note", "windowMs": 1000}, "kind", "RateOfChange is for tags"},
		{map[string]any{"kind": "Deviation", "tagName": "line.level", "setpointTag": "line.note"}, "setpointTag", "tag line.note is String"},
		{map[string]any{"kind": "State", "tagName": "line.flag", "states": []string{"true", "maybe"}}, "states[1]", "type Bool"},
		{map[string]any{"kind": "High", "tagName": "line.count"}, "", ""},
		{map[string]any{"kind": "High", "tagName": "line.level"}, "", ""},
		{map[string]any{"kind": "High", "tagName": "nobody.knows"}, "", ""},
		{map[string]any{"kind": "High", "tagName": "line.image", "enabled": false}, "", ""},
		{map[string]any{"kind": "Stale", "tagName": "line.image"}, "", ""},
		{map[string]any{"kind": "BadQuality", "tagName": "line.note"}, "", ""},
		{map[string]any{"kind": "State", "tagName": "line.note", "states": []string{"maybe"}}, "", ""},
	} {
		rule := map[string]any{"severity": "Warning", "limit": 80}
		for k, v := range c.change {
			rule[k] = v
		}
		a := p.call(accounts.Admin, http.MethodPost, ruleBase, rule)
		if c.field == "" {
			require.Equal(t, 201, a.status, "%v: %s", rule, a.body)
			continue
		}
		body := requireProblem(t, a, 400, "INVALID_ALARM_RULE")
		require.Equal(t, []string{c.field}, fields(body), rule)
		require.Contains(t, string(a.body), c.words)
	}
	good := map[string]any{"id": "put", "kind": "High", "tagName": "line.level", "limit": 80, "severity": "Warning"}
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, ruleBase, good).status)
	good["tagName"] = "line.image"
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, ruleBase+"/put", good), 400, "INVALID_ALARM_RULE")
	require.Equal(t, "line.level", p.rules("")["put"]["tagName"])
}

func TestRulesTellTheirState(t *testing.T) {
	t.Parallel()
	p := start(t)
	for id, change := range map[string]map[string]any{
		"level":    {"tagName": "line.level"},
		"slip":     {"tagName": "line.levle"},
		"off":      {"tagName": "line.level", "enabled": false},
		"away":     {"tagName": "away.valve", "kind": "State", "states": []string{"true"}},
		"quality":  {"tagName": "line.level", "kind": "BadQuality"},
		"setpoint": {"tagName": "line.level", "kind": "Deviation", "setpointTag": "line.sp"},
		"shelved":  {"tagName": "line.count", "limit": 1e20},
	} {
		rule := map[string]any{"id": id, "kind": "High", "limit": 80, "severity": "Warning"}
		for k, v := range change {
			rule[k] = v
		}
		a := p.call(accounts.Admin, http.MethodPost, ruleBase, rule)
		require.Equal(t, 201, a.status, "%s", a.body)
		if id == "shelved" {
			shelve := p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+jsonText(t, a.object(t)["code"])+"/shelve", map[string]any{"minutes": 5})
			require.Equal(t, 200, shelve.status, "%s", shelve.body)
		}
	}
	requireState := func(id, state, detail string) map[string]any {
		t.Helper()
		listed := p.rules("")[id]
		require.Equal(t, state, listed["state"], "%s: %v", id, listed)
		if detail == "" {
			require.NotContains(t, listed, "stateDetail")
		} else {
			require.Contains(t, listed["stateDetail"], detail)
		}
		one := p.call(accounts.Viewer, http.MethodGet, ruleBase+"/"+id, nil).object(t)
		require.Equal(t, listed["state"], one["state"])
		return listed
	}
	level := requireState("level", "Evaluating", "")
	require.Equal(t, map[string]any{"doubleValue": json.Number("21.5")}, level["lastValue"])
	require.WithinDuration(t, time.Now(), sent(t, level["lastValueAt"]), patience)
	slip := requireState("slip", "TagNotFound", "tag line.levle does not exist")
	require.NotContains(t, slip, "lastValue")
	requireState("off", "Disabled", "")
	requireState("away", "BadQuality", "tag away.valve")
	requireState("quality", "Evaluating", "")
	requireState("setpoint", "TagNotFound", "setpoint tag line.sp does not exist")
	requireState("shelved", "Suppressed", "Shelved")

	// Another type: what the rule looks for cannot be there any more.
	require.NoError(t, p.Tags().DefineTags(tags.Tag{Name: "line.level", Driver: "line", Address: "level", DataType: tags.String}))
	requireState("level", "WrongType", "High is for tags of type Int or Float; tag line.level is String")
	require.NoError(t, p.Tags().DefineTags(tags.Tag{Name: "line.level", Driver: "line", Address: "level", DataType: tags.Float},
		tags.Tag{Name: "line.sp", Driver: "line", Address: "count", DataType: tags.Int}))
	require.Eventually(t, func() bool { return p.rules("")["level"]["state"] == "Evaluating" }, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { return p.rules("")["setpoint"]["state"] == "Evaluating" }, patience, 5*time.Millisecond)
}
