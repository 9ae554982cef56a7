package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

// idsOf returns the ids of a list of alarms.
func idsOf(list []map[string]any) []string {
	ids := []string{}
	for _, a := range list {
		ids = append(ids, a["id"].(string))
	}
	return ids
}

// TestAnAlarmThatCameAndWentUnseenIsListed has a critical alarm come and go, and looks where it stands until somebody
// acknowledges it.
func TestAnAlarmThatCameAndWentUnseenIsListed(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, viewer := p.rpc(accounts.Viewer)
	stream, err := api.SubscribeAlarms(viewer, &pb.SubscribeAlarmsRequest{AllChanges: true})
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	lists := func(state string, want ...string) {
		t.Helper()
		if want == nil {
			want = []string{}
		}
		require.Equal(t, want, idsOf(p.alarmList("?state="+state)), state)
		list, err := api.GetAlarms(viewer, &pb.GetAlarmsRequest{State: state})
		require.NoError(t, err)
		require.EqualValues(t, len(want), list.GetTotalCount())
		for i, a := range list.GetAlarms() {
			require.Equal(t, want[i], a.GetId(), state)
		}
	}
	o := p.raise("hot", alarms.Critical)
	standing := p.raise("cold", alarms.Warning)
	lists("returned-unacknowledged")
	_, err = p.Alarms().Clear(t.Context(), alarms.ByKey("hot"), "", "")
	require.NoError(t, err)
	lists("returned-unacknowledged", o.ID)
	lists("active", standing.ID)
	lists("", standing.ID)
	lists("all", standing.ID, o.ID)
	a := p.alarmList("?state=returned-unacknowledged")[0]
	require.Equal(t, false, a["isActive"])
	require.NotNil(t, a["clearedAt"])
	require.Nil(t, a["acknowledgedAt"])
	require.Len(t, p.alarmList("?state=returned-unacknowledged&severityFilter=Critical&onlyUnacknowledged=true"), 1)
	require.Empty(t, p.alarmList("?state=returned-unacknowledged&severityFilter=Info"))
	require.Equal(t, []string{o.ID}, idsOf(p.alarmList("/history?"+lastHour()+"&state=returned-unacknowledged")))
	analytics := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/analytics", nil).object(t)
	require.Equal(t, jsonNumber(1), analytics["returnedUnacknowledged"])
	require.Equal(t, jsonNumber(1), analytics["standing"])
	metrics := p.call("", http.MethodGet, "/metrics", nil)
	require.Contains(t, string(metrics.body), `otkit_alarms{state="returned-unacknowledged"} 1`)
	require.Contains(t, string(metrics.body), `otkit_alarms{state="active"} 1`)
	require.Contains(t, string(metrics.body), `otkit_alarms{state="shelved"} 0`)

	// Shelved, it stands in that list; afterwards it is still there to be seen.
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+codeOf(o)+"/shelve", map[string]any{"minutes": 5}).status)
	lists("returned-unacknowledged")
	lists("shelved", o.ID)
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+codeOf(o)+"/unshelve", nil).status)
	lists("returned-unacknowledged", o.ID)
	lists("shelved")

	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+o.ID+"/acknowledge", nil).status)
	lists("returned-unacknowledged")
	lists("all", standing.ID)
	for i, want := range []struct {
		id           string
		active, seen bool
	}{{o.ID, true, false}, {standing.ID, true, false}, {o.ID, false, false}, {o.ID, false, false}, {o.ID, false, false}, {o.ID, false, true}} {
		m, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, want.id, m.GetAlarm().GetId(), "change %d", i)
		require.Equal(t, want.active, m.GetAlarm().GetIsActive(), "change %d", i)
		require.Equal(t, want.seen, m.GetAlarm().AcknowledgedBy != nil, "change %d", i)
	}
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/alarms?state=gone", nil), 400, "INVALID_REQUEST")
	_, err = api.GetAlarms(viewer, &pb.GetAlarmsRequest{State: "gone"})
	requireStatus(t, err, codes.InvalidArgument, "INVALID_REQUEST")
}

// TestHubsHearOfAnAlarmThatReturns has the stock client hear on both hubs that an alarm came and went.
func TestHubsHearOfAnAlarmThatReturns(t *testing.T) {
	t.Parallel()
	p := start(t)
	demo := p.listen("/hubs/demo", "WebSockets", p.token(accounts.Viewer))
	demo.await("started")
	board := p.listen("/hubs/alarms", "WebSockets", p.token(accounts.Viewer))
	board.await("started")
	o := p.raise("hot", alarms.Critical)
	require.Equal(t, o.ID, demo.await("OnAlarmRaised")[0].(map[string]any)["id"])
	board.await("ReceiveAlarm")
	_, err := p.Alarms().Clear(t.Context(), alarms.ByKey("hot"), "", "")
	require.NoError(t, err)
	for _, hub := range []listener{demo, board} {
		changed := hub.await("OnAlarmChanged", "ReceiveAlarm")[0].(map[string]any) // the channel tells of the end in its own time
		require.Equal(t, o.ID, changed["id"])
		require.Equal(t, false, changed["isActive"])
		require.Nil(t, changed["acknowledgedAt"])
	}
}

// TestHubsSendAFlood raises more alarms in one call than the queue of a client holds: those that read get all of them.
func TestHubsSendAFlood(t *testing.T) {
	t.Parallel()
	p := start(t)
	clients := map[string]listener{}
	for method, path := range map[string]string{"ReceiveAlarm": "/hubs/alarms", "OnAlarmRaised": "/hubs/demo"} {
		clients[method] = p.listen(path, "WebSockets", p.token(accounts.Viewer))
		clients[method].await("started")
	}
	signals := make([]alarms.Signal, 9000)
	for i := range signals {
		key := fmt.Sprint("k", i)
		signals[i].Raise = &alarms.Alarm{Key: key, Source: key, Message: key, Severity: alarms.Error}
	}
	_, err := p.Alarms().Apply(t.Context(), signals)
	require.NoError(t, err)
	for i := range signals {
		require.Equal(t, signals[i].Raise.Key, clients["ReceiveAlarm"].await("ReceiveAlarm")[0])
		require.Equal(t, signals[i].Raise.Key, clients["OnAlarmRaised"].await("OnAlarmRaised")[0].(map[string]any)["source"])
	}
}

// TestAnAlarmThatCannotBeStoredIsToldAtOnceAndOnce has both hubs and a stream of all changes tell of it.
func TestAnAlarmThatCannotBeStoredIsToldAtOnceAndOnce(t *testing.T) {
	t.Parallel()
	p := start(t)
	demo := p.listen("/hubs/demo", "WebSockets", p.token(accounts.Viewer))
	demo.await("started")
	board := p.listen("/hubs/alarms", "WebSockets", p.token(accounts.Viewer))
	board.await("started")
	api, viewer := p.rpc(accounts.Viewer)
	stream, err := api.SubscribeAlarms(viewer, &pb.SubscribeAlarmsRequest{AllChanges: true})
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	waits := alarms.Signal{Raise: &alarms.Alarm{Key: "rule:hot", ID: "01a20440-3a48-77fa-a566-e3a68db203d1", Source: "press",
		Message: "too hot", Severity: alarms.Critical}}
	p.Alarms().ShowPending(t.Context(), []alarms.PendingSignals{{Key: "rule:hot", Signals: []alarms.Signal{waits}}})
	raised := demo.await("OnAlarmRaised")[0].(map[string]any)
	require.Equal(t, waits.Raise.ID, raised["id"])
	require.Equal(t, false, raised["journaled"])
	require.Equal(t, "too hot", board.await("ReceiveAlarm")[0])
	m, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, waits.Raise.ID, m.GetAlarm().GetId())
	require.False(t, m.GetAlarm().GetJournaled())

	_, err = p.Alarms().Apply(t.Context(), []alarms.Signal{waits})
	require.NoError(t, err)
	p.Alarms().ShowPending(t.Context(), []alarms.PendingSignals{{Key: "rule:hot"}})
	next := p.raise("next", alarms.Critical)
	require.Equal(t, next.ID, demo.await("OnAlarmRaised")[0].(map[string]any)["id"], "it is told once")
	require.Equal(t, next.Message, board.await("ReceiveAlarm")[0], "it is told once")
	m, err = stream.Recv()
	require.NoError(t, err)
	require.Equal(t, next.ID, m.GetAlarm().GetId(), "it is told once")
}

// TestAlarmsAreSearched narrows both lists of alarms by source, text and labels.
func TestAlarmsAreSearched(t *testing.T) {
	t.Parallel()
	p := start(t)
	for i, source := range []string{"Line3.Press", "line3.pump", "line4.pump"} {
		_, err := p.Alarms().Raise(t.Context(), alarms.Alarm{Key: source, Source: source, Message: fmt.Sprintf("it is %d0%% too hot", i),
			Severity: alarms.Warning, Labels: map[string]string{"line": source[4:5], "job": "plant=a"}})
		require.NoError(t, err)
	}
	api, ctx := p.rpc(accounts.Viewer)
	hour := &pb.TimeRange{Start: timestamppb.New(time.Now().Add(-time.Hour)), End: timestamppb.New(time.Now().Add(time.Hour))}
	for _, c := range []struct {
		source, text string
		labels       map[string]string
		want         int
	}{
		{"", "", nil, 3}, {"LINE3", "", nil, 2}, {"pump", "10%", nil, 1}, {"", "TOO HOT", nil, 3}, {"", "%d", nil, 0},
		{"", "", map[string]string{"line": "3"}, 2}, {"pump", "hot", map[string]string{"line": "3", "job": "plant=a"}, 1}, {"", "", map[string]string{"line": ""}, 0},
	} {
		query := url.Values{"source": {c.source}, "text": {c.text}}
		for name, value := range c.labels {
			query.Add("label", name+"="+value)
		}
		require.Len(t, p.alarmList("?"+query.Encode()), c.want, "%+v", c)
		require.Len(t, p.alarmList("/history?"+lastHour()+"&"+query.Encode()), c.want, "%+v", c)
		list, err := api.GetAlarms(ctx, &pb.GetAlarmsRequest{Source: c.source, Text: c.text, Labels: c.labels})
		require.NoError(t, err)
		require.Len(t, list.GetAlarms(), c.want, "%+v", c)
		past, err := api.GetAlarmHistory(ctx, &pb.GetAlarmHistoryRequest{TimeRange: hour, Source: c.source, Text: c.text, Labels: c.labels})
		require.NoError(t, err)
		require.Len(t, past.GetAlarms(), c.want, "%+v", c)
	}
	for _, query := range []string{"label=nothing", "label==x", "label=a=1&label=a=2"} {
		a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms?"+query, nil)
		requireProblem(t, a, 400, "INVALID_REQUEST")
		require.Contains(t, string(a.body), "label", query)
	}
}

// TestManyAlarmsAreAcknowledgedTogether acknowledges alarms of which some cannot be.
func TestManyAlarmsAreAcknowledgedTogether(t *testing.T) {
	t.Parallel()
	p := start(t)
	a, b, c, d := p.raise("a", alarms.Error), p.raise("b", alarms.Error), p.raise("c", alarms.Error), p.raise("d", alarms.Error)
	_, err := p.Alarms().Clear(t.Context(), alarms.ByKey("c"), "", "")
	require.NoError(t, err)
	const path = "/api/v1/alarms:acknowledge"
	body := map[string]any{"alarmIds": []string{a.ID, "nothing", c.ID, a.ID}, "comment": "seen in the control room"}
	requireProblem(t, p.call(accounts.Viewer, http.MethodPost, path, body), 403, "FORBIDDEN")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, path, map[string]any{"alarmIds": []string{a.ID, ""}}), 400, "INVALID_REQUEST")
	got := p.call(accounts.Operator, http.MethodPost, path, body)
	require.Equal(t, 200, got.status, "%s", got.body)
	require.Equal(t, []any{a.ID, c.ID}, got.object(t)["acknowledged"])
	var failed []string
	for _, e := range got.object(t)["errors"].([]any) {
		e := e.(map[string]any)
		failed = append(failed, fmt.Sprint(e["alarmId"], " ", e["code"]))
		require.NotEmpty(t, e["message"])
	}
	require.Equal(t, []string{"nothing ALARM_NOT_FOUND", a.ID + " ALREADY_ACKNOWLEDGED"}, failed)
	for _, id := range []string{a.ID, c.ID} {
		o, err := p.Alarms().Occurrence(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "operator", o.AcknowledgedBy)
		require.Equal(t, "seen in the control room", o.Comment)
	}
	api, ctx := p.rpc(accounts.Viewer)
	_, err = api.AcknowledgeAlarms(ctx, &pb.AcknowledgeAlarmsRequest{AlarmIds: []string{b.ID}})
	requireStatus(t, err, codes.PermissionDenied, "FORBIDDEN")
	many, err := api.AcknowledgeAlarms(p.as(t.Context(), accounts.Operator), &pb.AcknowledgeAlarmsRequest{AlarmIds: []string{b.ID, c.ID, d.ID}, Comment: "x"})
	require.NoError(t, err)
	require.Equal(t, []string{b.ID, d.ID}, many.GetAcknowledged())
	require.Equal(t, c.ID, many.GetErrors()[0].GetAlarmId())
	require.Equal(t, "ALREADY_ACKNOWLEDGED", many.GetErrors()[0].GetCode())
	requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, path, map[string]any{"alarmIds": []string{}}), 400, "INVALID_REQUEST")
	tooMany := p.callWrong(accounts.Operator, http.MethodPost, path, map[string]any{"alarmIds": slices.Repeat([]string{"x"}, 501)})
	requireProblem(t, tooMany, 400, "BATCH_SIZE_EXCEEDED")
	require.Contains(t, string(tooMany.body), "at most 500 alarms")
	require.NotContains(t, string(tooMany.body), "10000", "that is the limit of another call")
	_, err = api.AcknowledgeAlarms(p.as(t.Context(), accounts.Operator), &pb.AcknowledgeAlarmsRequest{AlarmIds: make([]string, 501)})
	requireStatus(t, err, codes.InvalidArgument, "BATCH_SIZE_EXCEEDED")
}
