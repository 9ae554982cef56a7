package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

func TestASlowSubscriberOfAlarmsIsEndedAndOthersGoOn(t *testing.T) {
	t.Parallel()
	p := start(t)
	subscribe := func() pb.PlatformApi_SubscribeAlarmsClient {
		api, ctx := p.rpc(accounts.Viewer) // each on a connection of its own
		stream, err := api.SubscribeAlarms(ctx, &pb.SubscribeAlarmsRequest{})
		require.NoError(t, err)
		_, err = stream.Header()
		require.NoError(t, err)
		return stream
	}
	slow, quick := subscribe(), subscribe()

	// What may wait for a subscriber is 20,000 alarms, and what the connection holds is far less than a
	// batch.
	const batches, size = 24, 1000
	for b := range batches {
		list := make([]alarms.Alarm, size)
		for i := range list {
			list[i] = alarms.Alarm{Key: fmt.Sprint(b, "-", i), Source: "pump", Message: strings.Repeat("m", 1000), Severity: alarms.Info}
		}
		results, err := p.Alarms().RaiseMany(t.Context(), list)
		require.NoError(t, err)
		for i := range results {
			m, err := quick.Recv()
			require.NoError(t, err)
			require.Equal(t, results[i].Occurrence.ID, m.GetAlarm().GetId())
		}
	}
	n := 0
	for ; ; n++ {
		if _, err := slow.Recv(); err != nil {
			requireStatus(t, err, codes.ResourceExhausted, "SLOW_SUBSCRIBER")
			break
		}
	}
	require.Less(t, n, batches*size-20_000)
	o := p.raise("last", alarms.Critical)
	m, err := quick.Recv()
	require.NoError(t, err)
	require.Equal(t, o.ID, m.GetAlarm().GetId())
}

func TestALatchedAlarmIsReset(t *testing.T) {
	t.Parallel()
	p := start(t)
	raise := func() alarms.Occurrence {
		o, err := p.Alarms().Raise(t.Context(), alarms.Alarm{Key: "trip", Source: "turbine", Message: "tripped", Severity: alarms.Critical, Latching: true})
		require.NoError(t, err)
		return o
	}
	path := func(o alarms.Occurrence) string { return "/api/v1/alarms/" + codeOf(o) + "/reset" }
	o := raise()
	body := map[string]any{"comment": "inspected"}
	requireProblem(t, p.call(accounts.Viewer, http.MethodPost, path(o), body), 403, "FORBIDDEN")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, path(o), body), 409, "ALARM_NOT_RETURNED")
	_, err := p.Alarms().Clear(t.Context(), alarms.ByKey("trip"), "", "")
	require.NoError(t, err)
	require.Len(t, p.alarmList(""), 1, "it stays until somebody resets it")
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, path(o), body).status)
	require.Empty(t, p.alarmList(""))
	past := p.alarmList("/history?" + lastHour())
	require.Equal(t, false, past[0]["isActive"])
	events, err := p.Alarms().Events(t.Context(), 0, 10)
	require.NoError(t, err)
	last := events[len(events)-1]
	require.Equal(t, []any{alarms.Reset, "operator", "inspected"}, []any{last.Kind, last.By, last.Comment})
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, path(o), body), 404, "ALARM_NOT_FOUND")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/999999/reset", body), 404, "ALARM_NOT_FOUND")
	require.NotEqual(t, o.ID, raise().ID)
}

func TestAnalyticsOfAHistoryCountedByHand(t *testing.T) {
	t.Parallel()
	p := start(t)
	start := time.Now().UTC().Truncate(time.Hour).Add(-48 * time.Hour)
	at := func(key string, clear bool, after ...time.Duration) {
		for _, d := range after {
			_, err := p.Alarms().Raise(t.Context(), alarms.Alarm{Key: key, Source: "P-" + key, Message: key, Severity: alarms.Warning, At: start.Add(d)})
			require.NoError(t, err)
			if clear {
				_, err = p.Alarms().Clear(t.Context(), alarms.ByKey(key), "", "")
				require.NoError(t, err)
			}
		}
	}
	for i := range 11 { // 1:00 to 1:05: 11 in ten minutes is a flood, which ends when fewer than 5 are left
		at(fmt.Sprint("crowd", i), true, time.Hour+time.Duration(i)*30*time.Second)
	}
	at("chatters", true, 3*time.Hour, 3*time.Hour+20*time.Second, 3*time.Hour+40*time.Second)
	at("now and then", true, 4*time.Hour, 5*time.Hour)
	at("standing", false, 6*time.Hour) // for 42 hours and more: stale

	// 11 + 3 + 2 + 1 = 17 in 8 hours. The seventh leaves at 1:03:00 + 0:10:00 with four behind it.
	got := p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarms/analytics?start="+start.Format(time.RFC3339)+"&end="+start.Add(8*time.Hour).Format(time.RFC3339), nil)
	require.Equal(t, 200, got.status, "%s", got.body)
	var a struct {
		Count, Peak, Standing, StaleCount         int
		PerOperatorHour, FloodPercent, TopPercent float64
		Acceptable, Manageable                    bool
		Floods                                    []struct {
			Start, End  time.Time
			Count, Peak int
		}
		Top, Chattering []struct {
			Source string
			Count  int
		}
		Stale []struct{ Source string }
	}
	got.into(t, &a)
	require.Equal(t, 17, a.Count)
	require.InDelta(t, 17.0/8, a.PerOperatorHour, 1e-9)
	require.True(t, a.Acceptable && a.Manageable)
	require.Equal(t, 11, a.Peak)
	require.Len(t, a.Floods, 1)
	require.Equal(t, []int{11, 11}, []int{a.Floods[0].Count, a.Floods[0].Peak})
	require.Equal(t, start.Add(time.Hour), a.Floods[0].Start)
	require.Equal(t, start.Add(time.Hour+13*time.Minute), a.Floods[0].End)
	require.InDelta(t, 100*13.0/(8*60), a.FloodPercent, 1e-9)
	require.Len(t, a.Top, 10, "of the 14 that there are")
	require.Equal(t, []any{"P-chatters", 3, "P-now and then", 2, 1}, []any{a.Top[0].Source, a.Top[0].Count, a.Top[1].Source, a.Top[1].Count, a.Top[2].Count})
	require.InDelta(t, 100*13.0/17, a.TopPercent, 1e-9)
	require.Len(t, a.Chattering, 1)
	require.Equal(t, []any{"P-chatters", 3}, []any{a.Chattering[0].Source, a.Chattering[0].Count})
	require.Equal(t, []int{1, 1}, []int{a.Standing, a.StaleCount})
	require.Equal(t, "P-standing", a.Stale[0].Source)
}
