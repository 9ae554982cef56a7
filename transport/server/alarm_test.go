package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// raise raises an alarm from Go.
func (p *platform) raise(key string, severity alarms.Severity) alarms.Occurrence {
	p.t.Helper()
	o, err := p.Alarms().Raise(p.t.Context(), alarms.Alarm{Key: key, Source: "P-" + key, Message: key + " is wrong", Severity: severity})
	require.NoError(p.t, err)
	return o
}

// jsonNumber returns a number as a decoded body has it.
func jsonNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func codeOf(o alarms.Occurrence) string { return strconv.FormatInt(o.Code, 10) }

// sent returns a time as a body has it.
func sent(t testing.TB, v any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, v.(string))
	require.NoError(t, err)
	require.Equal(t, time.UTC, at.Location())
	return at
}

func (p *platform) array(path string) []any {
	p.t.Helper()
	a := p.call(accounts.Viewer, http.MethodGet, path, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	list, ok := decoded(p.t, a.body).([]any)
	require.True(p.t, ok, "%s", a.body)
	return list
}

func (p *platform) alarmList(query string) []map[string]any {
	p.t.Helper()
	a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms"+query, nil)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	var list []map[string]any
	for _, item := range a.object(p.t)["alarms"].([]any) {
		list = append(list, item.(map[string]any))
	}
	return list
}

func lastHour() string {
	now := time.Now().UTC()
	return "start=" + now.Add(-time.Hour).Format(time.RFC3339) + "&end=" + now.Add(time.Hour).Format(time.RFC3339)
}

func TestAnAlarmIsTheSameInBothFamilies(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Empty(t, p.alarmList(""))
	require.Empty(t, p.array("/api/v1.0/alarms/active"))
	o := p.raise("hot", alarms.Error)

	a := p.alarmList("")[0]
	require.WithinDuration(t, o.RaisedAt, sent(t, a["triggeredAt"]), 0)
	for member, want := range map[string]any{"id": o.ID, "source": "P-hot", "message": "hot is wrong", "severity": "Critical", "isActive": true, "state": "Unacknowledged"} {
		require.Equal(t, want, a[member], member)
	}
	for _, member := range []string{"acknowledgedAt", "acknowledgedBy"} {
		value, there := a[member]
		require.True(t, there, member)
		require.Nil(t, value, member)
	}
	b := p.array("/api/v1.0/alarms/active")[0].(map[string]any)
	require.WithinDuration(t, o.RaisedAt, sent(t, b["timestamp"]), 0)
	delete(b, "timestamp")
	require.Equal(t, map[string]any{"code": jsonNumber(o.Code), "message": "hot is wrong", "severity": "Critical",
		"sourceId": "P-hot", "acknowledged": false}, b)
	h := p.array("/api/v1.0/alarms/history")[0].(map[string]any)
	require.Contains(t, h, "clearedAt")
	require.Nil(t, h["clearedAt"])

	// Acknowledged in family B, seen in A with the name of who did it.
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", nil).status)
	require.Empty(t, p.array("/api/v1.0/alarms/active"))
	a = p.alarmList("")[0]
	require.Equal(t, "operator", a["acknowledgedBy"])
	require.Equal(t, "Acknowledged", a["state"])
	require.WithinDuration(t, time.Now(), sent(t, a["acknowledgedAt"]), time.Minute)
	require.Equal(t, true, a["isActive"])
	require.Empty(t, p.alarmList("?onlyUnacknowledged=true"))
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1.0/alarms/"+codeOf(o)+"/acknowledge", nil), 404, "ALARM_NOT_FOUND")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+o.ID+"/acknowledge", nil), 409, "ALREADY_ACKNOWLEDGED")
	api, ctx := p.rpc(accounts.Operator)
	_, err := api.AcknowledgeAlarm(ctx, &pb.AcknowledgeAlarmRequest{AlarmId: o.ID})
	requireStatus(t, err, codes.AlreadyExists, "ALREADY_ACKNOWLEDGED")

	// Cleared, it keeps who acknowledged it.
	_, err = p.Alarms().Clear(t.Context(), alarms.ByID(o.ID), "", "")
	require.NoError(t, err)
	require.Empty(t, p.alarmList(""))
	a = p.alarmList("/history?" + lastHour())[0]
	require.Equal(t, false, a["isActive"])
	require.Equal(t, "Normal", a["state"])
	require.Equal(t, "operator", a["acknowledgedBy"])
	h = p.array("/api/v1.0/alarms/history")[0].(map[string]any)
	require.Equal(t, true, h["acknowledged"])
	require.WithinDuration(t, time.Now(), sent(t, h["clearedAt"]), time.Minute)

	// Raised again, it has the code and another id.
	again := p.raise("hot", alarms.Error)
	require.Equal(t, o.Code, again.Code)
	require.NotEqual(t, o.ID, again.ID)

	// Acknowledged in family A, seen in B.
	ok := p.call(accounts.Admin, http.MethodPost, "/api/v1/alarms/"+again.ID+"/acknowledge", map[string]any{"comment": "on my way"})
	require.Equal(t, 200, ok.status)
	require.Equal(t, map[string]any{"success": true}, ok.object(t))
	require.Equal(t, "on my way", p.alarmList("")[0]["comment"])
	require.Empty(t, p.array("/api/v1.0/alarms/active"))
}

func TestAlarmListsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	p := start(t)
	for key, s := range map[string]alarms.Severity{"i": alarms.Info, "w": alarms.Warning, "e": alarms.Error, "c": alarms.Critical} {
		p.raise(key, s)
	}
	api, ctx := p.rpc(accounts.Viewer)
	now := time.Now()
	hour := &pb.TimeRange{Start: timestamppb.New(now.Add(-time.Hour)), End: timestamppb.New(now.Add(time.Hour))}
	for word, n := range map[string]int{"": 4, "Info": 1, "Warning": 1, "Critical": 2} {
		require.Len(t, p.alarmList("?severityFilter="+word), n, word)
		require.Len(t, p.alarmList("/history?"+lastHour()+"&severityFilter="+word), n, word)
		list, err := api.GetAlarms(ctx, &pb.GetAlarmsRequest{SeverityFilter: word})
		require.NoError(t, err)
		require.Len(t, list.GetAlarms(), n, word)
		history, err := api.GetAlarmHistory(ctx, &pb.GetAlarmHistoryRequest{TimeRange: hour, SeverityFilter: word})
		require.NoError(t, err)
		require.Len(t, history.GetAlarms(), n, word)
	}
	seen := map[any]bool{}
	for _, page := range []string{"1", "2", "3"} {
		a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms?pageSize=2&page="+page, nil).object(t)
		require.Equal(t, jsonNumber(4), a["totalCount"])
		for _, item := range a["alarms"].([]any) {
			seen[item.(map[string]any)["id"]] = true
		}
	}
	require.Len(t, seen, 4)
	require.Len(t, p.alarmList("?pageSize=500"), 4)

	reversed := url.Values{"start": {now.Format(time.RFC3339)}, "end": {now.Add(-time.Hour).Format(time.RFC3339)}}.Encode()
	for query, code := range map[string]string{
		"?pageSize=501": "PAGE_SIZE_EXCEEDED", "?pageSize=0": "INVALID_REQUEST", "?page=0": "INVALID_REQUEST", "?page=-1": "INVALID_REQUEST",
		"?page=x": "INVALID_REQUEST", "?severityFilter=Fatal": "INVALID_REQUEST", "?onlyUnacknowledged=maybe": "INVALID_REQUEST",
		"/history?" + lastHour() + "&pageSize=501": "PAGE_SIZE_EXCEEDED", "/history?" + reversed: "INVALID_TIME_RANGE",
		"/history": "INVALID_TIME_RANGE", "/history?start=yesterday&end=now": "INVALID_REQUEST",
	} {
		t.Run(query, func(t *testing.T) {
			requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/alarms"+query, nil), 400, code)
		})
	}
	_, err := api.GetAlarms(ctx, &pb.GetAlarmsRequest{Pagination: &pb.PaginationRequest{PageSize: 501}})
	requireStatus(t, err, codes.InvalidArgument, "PAGE_SIZE_EXCEEDED")
	_, err = api.GetAlarmHistory(ctx, &pb.GetAlarmHistoryRequest{})
	requireStatus(t, err, codes.InvalidArgument, "INVALID_TIME_RANGE")
	_, err = api.GetAlarmHistory(ctx, &pb.GetAlarmHistoryRequest{TimeRange: &pb.TimeRange{Start: hour.GetEnd(), End: hour.GetStart()}})
	requireStatus(t, err, codes.InvalidArgument, "INVALID_TIME_RANGE")
	_, err = api.AcknowledgeAlarm(p.as(t.Context(), accounts.Operator), &pb.AcknowledgeAlarmRequest{AlarmId: "nothing"})
	requireStatus(t, err, codes.NotFound, "ALARM_NOT_FOUND")
}

func TestOperatorsAcknowledgeAndViewersDoNot(t *testing.T) {
	t.Parallel()
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	for _, path := range []string{"/api/v1/alarms/" + o.ID + "/acknowledge", "/api/v1.0/alarms/" + codeOf(o) + "/acknowledge"} {
		requireProblem(t, p.call(accounts.Viewer, http.MethodPost, path, nil), 403, "FORBIDDEN")
		requireProblem(t, p.call(nobody, http.MethodPost, path, nil), 401, "UNAUTHORIZED")
	}
	api, ctx := p.rpc(accounts.Viewer)
	_, err := api.AcknowledgeAlarm(ctx, &pb.AcknowledgeAlarmRequest{AlarmId: o.ID})
	requireStatus(t, err, codes.PermissionDenied, "FORBIDDEN")
	require.Nil(t, p.alarmList("")[0]["acknowledgedBy"])
	_, err = api.AcknowledgeAlarm(p.as(t.Context(), accounts.Operator), &pb.AcknowledgeAlarmRequest{AlarmId: o.ID, Comment: "seen"})
	require.NoError(t, err)
	require.Equal(t, "operator", p.alarmList("")[0]["acknowledgedBy"])
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/nothing/acknowledge", nil), 404, "ALARM_NOT_FOUND")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1.0/alarms/4711/acknowledge", nil), 404, "ALARM_NOT_FOUND")
	requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, "/api/v1.0/alarms/abc/acknowledge", nil), 400, "INVALID_REQUEST")
}

func TestTrendAndResolutionsUnderBothPrefixes(t *testing.T) {
	t.Parallel()
	p := start(t)
	for key, s := range map[string]alarms.Severity{"i": alarms.Info, "w": alarms.Warning, "e": alarms.Error, "c": alarms.Critical} {
		p.raise(key, s)
	}
	for i, prefix := range []string{"/api/v1", "/api/v1.0"} {
		points := p.array(prefix + "/alarms/trend")
		require.Contains(t, []int{24, 25, 26}, len(points)) // a range that touches part of an hour has the hour
		sum := map[string]int64{}
		for _, point := range points {
			for _, member := range []string{"warningCount", "errorCount", "criticalCount", "totalCount"} {
				n, err := point.(map[string]any)[member].(interface{ Int64() (int64, error) }).Int64()
				require.NoError(t, err)
				sum[member] += n
			}
			require.Zero(t, sent(t, point.(map[string]any)["hour"]).Truncate(time.Hour).Sub(sent(t, point.(map[string]any)["hour"])))
		}
		require.Equal(t, map[string]int64{"warningCount": 1, "errorCount": 1, "criticalCount": 1, "totalCount": 4}, sum)
		requireProblem(t, p.call(accounts.Viewer, http.MethodGet, prefix+"/alarms/trend?start=2026-01-01T00:00:00Z&end=2026-02-02T00:00:00Z", nil), 400, "INVALID_TIME_RANGE")

		body := map[string]any{"resolvedBy": "anna", "actionTaken": "new seal", "wasSuccessful": false}
		path := prefix + "/alarms/77/resolution"
		r := p.call(accounts.Operator, http.MethodPost, path, body)
		require.Equal(t, 200, r.status, "%s", r.body)
		got := r.object(t)
		require.WithinDuration(t, time.Now(), sent(t, got["resolvedAt"]), time.Minute)
		delete(got, "resolvedAt")
		require.Equal(t, map[string]any{"id": got["id"], "alarmCode": jsonNumber(77), "resolvedBy": "anna", "recordedBy": "operator", "actionTaken": "new seal",
			"wasSuccessful": false, "notes": nil}, got)
		list := p.array(prefix + "/alarms/77/resolutions")
		require.Len(t, list, i+1)
		require.Equal(t, "operator", list[0].(map[string]any)["recordedBy"])
		require.Empty(t, p.array(prefix+"/alarms/78/resolutions"))
		for _, missing := range []string{"resolvedBy", "actionTaken", "wasSuccessful"} {
			bad := map[string]any{"resolvedBy": "anna", "actionTaken": "new seal", "wasSuccessful": true}
			delete(bad, missing)
			requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, path, bad), 400, "INVALID_REQUEST")
		}
		requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, prefix+"/alarms/0/resolution", body), 400, "INVALID_REQUEST")
		requireProblem(t, p.call(accounts.Viewer, http.MethodPost, path, body), 403, "FORBIDDEN")
		requireProblem(t, p.call(nobody, http.MethodGet, prefix+"/alarms/trend", nil), 401, "UNAUTHORIZED")
	}
	require.Len(t, p.array("/api/v1.0/alarms/history?limit=3"), 3)
	for limit, code := range map[string]string{"0": "INVALID_REQUEST", "501": "PAGE_SIZE_EXCEEDED", "x": "INVALID_REQUEST", "-1": "INVALID_REQUEST"} {
		requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1.0/alarms/history?limit="+limit, nil), 400, code)
	}
}

func TestAlarmsAreWithheld(t *testing.T) {
	t.Parallel()
	p := start(t)
	o := p.raise("hot", alarms.Warning)
	do := func(act string, body any) answer {
		t.Helper()
		return p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+codeOf(o)+"/"+act, body)
	}
	for _, c := range []struct{ act, undo, state string }{
		{"shelve", "unshelve", "Shelved"}, {"suppress", "unsuppress", "SuppressedByDesign"}, {"out-of-service", "in-service", "OutOfService"},
	} {
		role, body := accounts.Admin, any(map[string]any{"comment": "in repair"})
		if c.act == "shelve" {
			role, body = accounts.Operator, map[string]any{"minutes": 30, "comment": "in repair"}
		}
		path := "/api/v1/alarms/" + codeOf(o) + "/"
		a := p.call(role, http.MethodPost, path+c.act, body)
		require.Equal(t, 200, a.status, "%s: %s", c.act, a.body)
		require.Equal(t, c.state, a.object(t)["state"])
		require.Empty(t, p.alarmList(""), c.act)
		withheld := p.array("/api/v1/alarms/suppressed")
		require.Len(t, withheld, 1)
		w := withheld[0].(map[string]any)
		require.Equal(t, o.ID, w["last"].(map[string]any)["id"])
		require.Equal(t, strings.ToLower(string(role)), w["suppressedBy"])
		require.Equal(t, "in repair", w["suppressionComment"])
		require.WithinDuration(t, time.Now(), sent(t, w["suppressedAt"]), time.Minute)
		if c.act == "shelve" {
			require.Equal(t, "operator", w["shelvedBy"])
			require.WithinDuration(t, time.Now().Add(30*time.Minute), sent(t, w["shelvedUntil"]), time.Minute)
		}
		require.Equal(t, 200, p.call(role, http.MethodPost, path+c.undo, nil).status, c.undo)
		require.Len(t, p.alarmList(""), 1, c.undo)
		require.Empty(t, p.array("/api/v1/alarms/suppressed"))
		requireProblem(t, p.call(accounts.Viewer, http.MethodPost, path+c.act, body), 403, "FORBIDDEN")
	}
	for _, minutes := range []int{0, -1, 10081} {
		requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+codeOf(o)+"/shelve", map[string]any{"minutes": minutes}), 400, "INVALID_REQUEST")
	}
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/4711/unshelve", nil), 404, "ALARM_NOT_FOUND")
	requireProblem(t, do("reset", nil), 409, "ALARM_NOT_RETURNED")
	analytics := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/analytics", nil)
	require.Equal(t, 200, analytics.status, "%s", analytics.body)
	require.Equal(t, jsonNumber(1), analytics.object(t)["count"])
	require.Equal(t, jsonNumber(1), analytics.object(t)["standing"])
}

func TestARuleRaisesAndClearsAnAlarm(t *testing.T) {
	t.Parallel()
	p := start(t)
	rule := map[string]any{"id": "full", "tagName": "line.level", "kind": "High", "limit": 80, "deadband": 5, "severity": "Warning", "message": "{tag} over {limit}"}
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarm-rules", rule), 403, "FORBIDDEN")
	a := p.call(accounts.Admin, http.MethodPost, "/api/v1/alarm-rules", rule)
	require.Equal(t, 201, a.status, "%s", a.body)
	require.Equal(t, true, a.object(t)["enabled"])
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/alarm-rules", rule), 409, "ALARM_RULE_ALREADY_EXISTS")
	bad := map[string]any{"id": "bad", "tagName": "line.level", "kind": "Deviation", "limit": -1, "severity": "Warning"}
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, "/api/v1/alarm-rules", bad), 400, "INVALID_ALARM_RULE")
	require.Len(t, p.rules(""), 1)

	count := func(n int) func() bool { return func() bool { return len(p.alarmList("")) == n } }
	p.line.set("level", tags.FloatValue(81))
	require.Eventually(t, count(1), patience, 5*time.Millisecond)
	alarm := p.alarmList("")[0]
	require.Equal(t, "line.level over 80", alarm["message"])
	require.Equal(t, "line.level", alarm["source"])

	// Within the deadband it stays; the sample has been judged when a rule after it has raised.
	p.line.set("level", tags.FloatValue(76))
	mark := map[string]any{"id": "mark", "tagName": "line.level", "kind": "Low", "limit": 77, "severity": "Info"}
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, "/api/v1/alarm-rules", mark).status)
	require.Eventually(t, count(2), patience, 5*time.Millisecond)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, "/api/v1/alarm-rules/mark", nil).status)
	require.Eventually(t, count(1), patience, 5*time.Millisecond) // a rule takes its alarm along
	p.line.set("level", tags.FloatValue(74))
	require.Eventually(t, count(0), patience, 5*time.Millisecond)

	// Replaced, it judges the value that is there by the new limit.
	rule["limit"], rule["deadband"] = 50, 0
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, "/api/v1/alarm-rules/full", rule).status)
	require.Eventually(t, count(1), patience, 5*time.Millisecond)
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, "/api/v1/alarm-rules/other", rule), 400, "INVALID_ALARM_RULE")
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, "/api/v1/alarm-rules/full", nil).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, "/api/v1/alarm-rules/full", nil), 404, "ALARM_RULE_NOT_FOUND")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarm-rules/full", nil), 404, "ALARM_RULE_NOT_FOUND")
	require.Empty(t, p.rules(""))
}

func TestAlarmsAreStreamed(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, ctx := p.rpc(accounts.Viewer)
	all, err := api.SubscribeAlarms(ctx, &pb.SubscribeAlarmsRequest{})
	require.NoError(t, err)
	critical, err := api.SubscribeAlarms(ctx, &pb.SubscribeAlarmsRequest{SeverityFilter: new("Critical")})
	require.NoError(t, err)
	for _, s := range []pb.PlatformApi_SubscribeAlarmsClient{all, critical} {
		_, err := s.Header()
		require.NoError(t, err)
	}
	p.raise("w", alarms.Warning)
	p.raise("e", alarms.Error)
	for _, want := range []string{"w is wrong", "e is wrong"} {
		m, err := all.Recv()
		require.NoError(t, err)
		require.Equal(t, want, m.GetAlarm().GetMessage())
		require.Nil(t, m.GetAlarm().AcknowledgedBy)
		require.True(t, m.GetAlarm().GetIsActive())
	}
	m, err := critical.Recv()
	require.NoError(t, err)
	require.Equal(t, "e is wrong", m.GetAlarm().GetMessage())
	bad, err := api.SubscribeAlarms(ctx, &pb.SubscribeAlarmsRequest{SeverityFilter: new("Fatal")})
	require.NoError(t, err)
	_, err = bad.Recv()
	requireStatus(t, err, codes.InvalidArgument, "INVALID_REQUEST")
	p.halt()
	_, err = all.Recv()
	requireStatus(t, err, codes.Unavailable, "SERVER_STOPPING")
}

func TestAnAlarmTellsWhatRaisedIt(t *testing.T) {
	t.Parallel()
	p := start(t)
	_, err := p.Alarms().Raise(t.Context(), alarms.Alarm{Key: "app:hot", Source: "Line 1", Message: "hot", Severity: alarms.Error, Labels: map[string]string{"line": "1"},
		Cause: alarms.Cause{Tag: "Line-1/T1", Rule: "hot", Value: "91.5", Limit: "80", Instructions: "Open V-1."}})
	require.NoError(t, err)
	a := p.alarmList("")[0]
	for member, want := range map[string]any{"tagName": "Line-1/T1", "ruleId": "hot", "value": "91.5", "limit": "80", "instructions": "Open V-1.",
		"labels": map[string]any{"line": "1"}} {
		require.Equal(t, want, a[member], member)
	}
	api, ctx := p.rpc(accounts.Viewer)
	list, err := api.GetAlarms(ctx, &pb.GetAlarmsRequest{})
	require.NoError(t, err)
	g := list.Alarms[0]
	require.Equal(t, []string{"Line-1/T1", "hot", "91.5", "80", "Open V-1.", "Unacknowledged", "1"},
		[]string{g.TagName, g.RuleId, g.Value, g.Limit, g.Instructions, g.State, g.Labels["line"]})
}

func TestCountsAndComments(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.raise("old", alarms.Warning)
	o := p.raise("hot", alarms.Error)
	counts := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/counts", nil).object(t)
	of := func(severity string) map[string]any {
		return counts["severities"].(map[string]any)[severity].(map[string]any)
	}
	require.Equal(t, map[string]any{"unacknowledged": jsonNumber(1), "acknowledged": jsonNumber(0), "returnedUnacknowledged": jsonNumber(0), "shelved": jsonNumber(0), "suppressedByDesign": jsonNumber(0),
		"outOfService": jsonNumber(0)}, of("Critical"))
	require.Equal(t, jsonNumber(1), of("Warning")["unacknowledged"])
	require.Equal(t, o.ID, counts["gravest"].(map[string]any)["id"])
	require.Equal(t, false, counts["flood"])
	require.Equal(t, o.ID, p.alarmList("?sort=priority")[0]["id"])
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/alarms?sort=loudest", nil), 400, "INVALID_REQUEST")

	path, body := "/api/v1/alarms/"+o.ID+"/comment", map[string]any{"comment": "on my way"}
	require.Equal(t, 403, p.call(accounts.Viewer, http.MethodPost, path, body).status)
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, path, body).status)
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/nothing/comment", body), 404, "ALARM_NOT_FOUND")
	requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, path, map[string]any{"comment": ""}), 400, "INVALID_REQUEST")
	events := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/"+o.ID+"/events", nil).object(t)["events"].([]any)
	last := events[len(events)-1].(map[string]any)
	require.Equal(t, []any{"Commented", "operator", "on my way"}, []any{last["event"], last["by"], last["comment"]})
	require.Nil(t, p.alarmList("?sort=priority")[0]["acknowledgedAt"])
}
