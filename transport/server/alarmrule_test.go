package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
)

const ruleBase = "/api/v1/alarm-rules"

// rules lists rules and gives them by their ids.
func (p *platform) rules(query string) map[string]map[string]any {
	p.t.Helper()
	a := p.call(accounts.Viewer, http.MethodGet, ruleBase+query, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	list := map[string]map[string]any{}
	for _, item := range a.object(p.t)["rules"].([]any) {
		rule := item.(map[string]any)
		list[rule["id"].(string)] = rule
	}
	return list
}

// fields returns the names of the members that an error is about.
func fields(body map[string]any) (names []string) {
	list, _ := body["errors"].([]any)
	for _, item := range list {
		names = append(names, item.(map[string]any)["field"].(string))
	}
	return names
}

func TestRulesTellTheirCodes(t *testing.T) {
	t.Parallel()
	p := start(t)
	rule := map[string]any{"tagName": "line.level", "kind": "High", "limit": 80, "severity": "Warning"}
	made := p.call(accounts.Admin, http.MethodPost, ruleBase, rule)
	require.Equal(t, 201, made.status, "%s", made.body)
	id, code := made.object(t)["id"].(string), made.object(t)["code"]
	require.Equal(t, ruleBase+"/"+id, made.header.Get("Location"))
	require.Equal(t, code, p.call(accounts.Viewer, http.MethodGet, made.header.Get("Location"), nil).object(t)["code"])
	rule["limit"] = 70
	require.Equal(t, code, p.call(accounts.Admin, http.MethodPut, ruleBase+"/"+id, rule).object(t)["code"])
	require.Equal(t, code, p.rules("")[id]["code"])
	p.line.set("level", tags.FloatValue(81))
	require.Eventually(t, func() bool { return len(p.alarmList("")) == 1 }, patience, 5*time.Millisecond)
	require.Equal(t, code, p.alarmList("")[0]["code"])
}

// Of two people who change a rule at the same time, the second is told, and overwrites nothing.
func TestARuleIsChangedAsItWasSeen(t *testing.T) {
	t.Parallel()
	p := start(t)
	rule := map[string]any{"id": "hot", "tagName": "line.level", "kind": "High", "limit": 80.0, "severity": "Warning"}
	made := p.call(accounts.Admin, http.MethodPost, ruleBase, rule)
	require.Equal(t, 201, made.status, "%s", made.body)
	const path = ruleBase + "/hot"
	seen := p.call(accounts.Viewer, http.MethodGet, path, nil).header.Get("ETag")
	require.Equal(t, seen, made.header.Get("ETag"))
	p.line.set("level", tags.FloatValue(81)) // the state of the evaluation is no change of the rule
	require.Eventually(t, func() bool { return len(p.alarmList("")) == 1 }, patience, 5*time.Millisecond)
	require.Equal(t, seen, p.call(accounts.Viewer, http.MethodGet, path, nil).header.Get("ETag"))

	rule["limit"] = 82.0
	first := p.conditional(http.MethodPut, path, seen, rule)
	require.Equal(t, 200, first.status, "%s", first.body)
	now := first.header.Get("ETag")
	require.NotEqual(t, seen, now)
	rule["limit"] = 70.0
	requireProblem(t, p.conditional(http.MethodPut, path, seen, rule), 412, "VERSION_CHANGED")
	requireProblem(t, p.conditional(http.MethodDelete, path, seen, nil), 412, "VERSION_CHANGED")
	requireProblem(t, p.conditional(http.MethodPut, path, "", rule), 400, "INVALID_REQUEST")
	requireProblem(t, p.conditional(http.MethodPut, ruleBase+"/none", seen, rule), 400, "INVALID_ALARM_RULE")
	requireProblem(t, p.conditional(http.MethodDelete, ruleBase+"/none", seen, nil), 404, "ALARM_RULE_NOT_FOUND")
	require.Equal(t, json.Number("82"), p.call(accounts.Viewer, http.MethodGet, path, nil).object(t)["limit"])
	require.Equal(t, 200, p.conditional(http.MethodPut, path, "*", rule).status)
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, path, rule).status, "without the header any may be changed")
	requireProblem(t, p.conditional(http.MethodDelete, path, now, nil), 412, "VERSION_CHANGED")
	now = p.call(accounts.Viewer, http.MethodGet, path, nil).header.Get("ETag")
	require.Equal(t, 204, p.conditional(http.MethodDelete, path, now, nil).status)
}

func TestRulesAreListedInPages(t *testing.T) {
	t.Parallel()
	p := start(t)
	for id, tag := range map[string]string{"a": "line.level", "b": "line.count", "c": "line.level"} {
		rule := map[string]any{"id": id, "tagName": tag, "kind": "BadQuality", "severity": "Info"}
		require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, ruleBase, rule).status)
	}
	require.Len(t, p.rules(""), 3)
	require.Contains(t, p.rules("?page=2&pageSize=2"), "c")
	require.Len(t, p.rules("?page=2&pageSize=2"), 1)
	require.Empty(t, p.rules("?page=3&pageSize=2"))
	require.Len(t, p.rules("?tagName=line.level"), 2)
	require.Empty(t, p.rules("?tagName=line"))
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, ruleBase+"?pageSize=501", nil), 400, "PAGE_SIZE_EXCEEDED")
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, ruleBase+"?page=0", nil), 400, "INVALID_REQUEST")
}

func TestABadRuleNamesItsMembers(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct {
		change map[string]any
		field  string
	}{
		{map[string]any{"severity": nil}, "severity"},
		{map[string]any{"tagName": ""}, "tagName"},
		{map[string]any{"kind": "Deviation"}, "setpoint"},
		{map[string]any{"kind": "Deviation", "setpoint": 0, "setpointTag": "line.fixed"}, "setpoint"},
		{map[string]any{"kind": "RateOfChange"}, "windowMs"},
		{map[string]any{"onDelayMs": 86400001}, "onDelayMs"},
	} {
		rule := map[string]any{"id": "r", "tagName": "line.level", "kind": "High", "limit": 80, "severity": "Warning"}
		for name, value := range c.change {
			rule[name] = value
		}
		for method, path := range map[string]string{http.MethodPost: ruleBase, http.MethodPut: ruleBase + "/r"} {
			if method == http.MethodPut {
				good := map[string]any{"id": "r", "tagName": "line.level", "kind": "High", "limit": 80, "severity": "Warning"}
				require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, ruleBase, good).status)
			}
			body := requireProblem(t, p.callWrong(accounts.Admin, method, path, rule), 400, "INVALID_ALARM_RULE")
			require.Equal(t, []string{c.field}, fields(body), "%v", c.change)
			p.call(accounts.Admin, http.MethodDelete, ruleBase+"/r", nil)
		}
	}
}

// TestALatchedAlarmEndsWithItsRule has rules go, and latch no more, while their alarm is latched.
func TestALatchedAlarmEndsWithItsRule(t *testing.T) {
	t.Parallel()
	p := start(t)
	rule := map[string]any{"id": "full", "tagName": "line.level", "kind": "High", "limit": 80, "severity": "Warning", "latching": true}
	latch := func() string {
		t.Helper()
		require.Less(t, p.call(accounts.Admin, http.MethodPut, ruleBase+"/full", rule).status, 300)
		p.line.set("level", tags.FloatValue(81))
		require.Eventually(t, func() bool { return len(p.alarmList("")) == 1 }, patience, 5*time.Millisecond)
		id := p.alarmList("")[0]["id"].(string)
		p.line.set("level", tags.FloatValue(20))
		require.Eventually(t, func() bool {
			events := p.happened(id)
			return events[len(events)-1]["event"] == "Returned"
		}, patience, 5*time.Millisecond)
		require.Len(t, p.alarmList(""), 1)
		return id
	}
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, ruleBase, rule).status)
	id := latch()
	rule["latching"] = false
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, ruleBase+"/full", rule).status)
	require.Eventually(t, func() bool { return len(p.alarmList("")) == 0 }, patience, 5*time.Millisecond)
	require.Equal(t, "Cleared", p.happened(id)[2]["event"])

	rule["latching"] = true
	id = latch()
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, ruleBase+"/full", nil).status)
	require.Eventually(t, func() bool { return len(p.alarmList("")) == 0 }, patience, 5*time.Millisecond)
	last := p.happened(id)[2]
	require.Equal(t, "Cleared", last["event"])
	require.Equal(t, "admin", last["by"])
	require.Equal(t, "the rule was removed", last["comment"])
}

// happened returns the journal of an occurrence.
func (p *platform) happened(id string) (list []map[string]any) {
	p.t.Helper()
	a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/"+id+"/events", nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	for _, item := range a.object(p.t)["events"].([]any) {
		list = append(list, item.(map[string]any))
	}
	return list
}

func TestTheJournalOfAnAlarm(t *testing.T) {
	t.Parallel()
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	path := "/api/v1/alarms/" + o.ID + "/"
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, path+"acknowledge", map[string]any{"comment": "on my way"}).status)
	again := p.raise("hot", alarms.Critical)
	require.NotEqual(t, o.ID, again.ID, "what is graver was not acknowledged")
	list := p.happened(o.ID)
	require.Len(t, list, 3)
	for i, want := range [][3]string{{"Raised", "", ""}, {"Acknowledged", "operator", "on my way"}, {"Cleared", "", "severity increased after acknowledgement; continues as a new occurrence"}} {
		require.Equal(t, want, [3]string{list[i]["event"].(string), list[i]["by"].(string), list[i]["comment"].(string)})
		require.WithinDuration(t, time.Now(), sent(t, list[i]["at"]), time.Minute)
	}
	require.Len(t, p.happened(again.ID), 1)
	require.Eventually(t, func() bool { return len(p.records("?source=P-hot")) == 2 }, patience, 5*time.Millisecond, "each has a record of its own")
	require.Equal(t, "Critical", p.records("?source=P-hot")[0].(map[string]any)["severity"])
	require.Contains(t, p.records("?source=P-hot")[1], "resolvedAt")
	page := p.call(accounts.Viewer, http.MethodGet, path+"events?page=2&pageSize=2", nil).object(t)
	require.Equal(t, jsonNumber(3), page["totalCount"])
	require.Len(t, page["events"], 1)
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, path+"events?pageSize=501", nil), 400, "PAGE_SIZE_EXCEEDED")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/nothing/events", nil), 404, "ALARM_NOT_FOUND")
	requireProblem(t, p.call(nobody, http.MethodGet, path+"events", nil), 401, "UNAUTHORIZED")
	a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/"+upper(o.ID)+"/events", nil)
	require.Equal(t, 200, a.status, "an id is the same in either case")
}

// TestAlarmListsAreInTheOrderOfTheirTimes raises alarms that are told of late.
func TestAlarmListsAreInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	p := start(t)
	now := time.Now()
	for _, minutes := range []int{10, 30, 20, 5} {
		at := now.Add(-time.Duration(minutes) * time.Minute)
		_, err := p.Alarms().Raise(t.Context(), alarms.Alarm{Key: at.String(), Source: "P-1", At: at})
		require.NoError(t, err)
	}
	for name, list := range map[string][]time.Time{
		"A": p.times(p.alarmList(""), "triggeredAt"), "A history": p.times(p.alarmList("/history?"+lastHour()), "triggeredAt"),
		"B": p.times(objects(p.array("/api/v1.0/alarms/active")), "timestamp"), "B history": p.times(objects(p.array("/api/v1.0/alarms/history")), "timestamp"),
	} {
		require.Len(t, list, 4, name)
		for i := 1; i < len(list); i++ {
			require.True(t, list[i].Before(list[i-1]), "%s: %v", name, list)
		}
	}
}

func objects(list []any) (out []map[string]any) {
	for _, item := range list {
		out = append(out, item.(map[string]any))
	}
	return out
}

func (p *platform) times(list []map[string]any, member string) (out []time.Time) {
	p.t.Helper()
	for _, item := range list {
		out = append(out, sent(p.t, item[member]))
	}
	return out
}
