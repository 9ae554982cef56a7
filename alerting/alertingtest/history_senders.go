package alertingtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/silences"
)

// senderBody is a body of Alertmanager; its status and times are to be filled in.
const senderBody = `{"receiver":"otkit","status":"STATUS","alerts":[{"status":"STATUS","labels":{"alertname":"HighTemperature",
"instance":"oven-1:9100","job":"ovens","severity":"critical"},"annotations":{"description":"Oven is at 312 °C",
"summary":"Oven 1 too hot"},"startsAt":"STARTS","endsAt":"ENDS","generatorURL":"http://SENDER:9090/graph?g0.expr=t+%3E+300",
"fingerprint":"d2c2a1a5b8a9e2f1"}],"groupLabels":{"alertname":"HighTemperature"},"commonLabels":{"alertname":
"HighTemperature","instance":"oven-1:9100","job":"ovens","severity":"critical"},"commonAnnotations":{},"externalURL":
"http://SENDER:9093","version":"4","groupKey":"{}:{alertname=\"HighTemperature\"}","truncatedAlerts":0}`

// postOf returns a body of the sender a, which has the earlier start of the alert, or of b. It is resolved unless ended is zero.
func postOf(sender string, ended time.Time) []byte {
	starts, status := base, "firing"
	if sender == "b" {
		starts = base.Add(12 * time.Second)
	}
	if !ended.IsZero() {
		status = "resolved"
	}
	return []byte(strings.NewReplacer("STATUS", status, "STARTS", starts.Format(time.RFC3339Nano), "ENDS",
		ended.Format(time.RFC3339Nano), "SENDER", "alertmanager-"+sender).Replace(senderBody))
}

func testEnds(t *testing.T, s historyStore) {
	end := func(n int, told time.Duration, by ...string) history.End {
		return history.End{Alarm: recordKey(n).Alarm, At: base.Add(time.Second), ToldAt: base.Add(told), By: by}
	}
	keep := func(ends ...history.End) {
		t.Helper()
		require.NoError(t, s.ApplyRecords(t.Context(), history.Changes{Ends: ends}))
	}
	read := func(keys ...alerting.RecordKey) []history.End {
		t.Helper()
		found, err := s.RelatedRecords(t.Context(), keys)
		require.NoError(t, err)
		require.Empty(t, found.Records)
		slices.SortFunc(found.Ends, func(a, b history.End) int { return strings.Compare(a.Alarm, b.Alarm) })
		return found.Ends
	}
	require.Empty(t, read(recordKey(1)))
	keep(end(1, time.Hour, "a"), end(2, time.Minute, "a", "b"))
	require.Equal(t, []history.End{end(1, time.Hour, "a"), end(2, time.Minute, "a", "b")}, read(recordKey(2), recordKey(1), recordKey(3)))
	keep(end(2, 2*time.Minute, "c"))
	require.Equal(t, []history.End{end(2, 2*time.Minute, "c")}, read(recordKey(2)), "the last one is kept")
	require.NoError(t, s.TrimRecords(t.Context(), base.Add(time.Hour)))
	require.Equal(t, []history.End{end(1, time.Hour, "a")}, read(recordKey(2), recordKey(1)))
}

// testFiringAgain has two receivers over one store, as two engines have: one receives the end, the other one that the
// alert fires again.
func testFiringAgain(t *testing.T, s historyStore) {
	now := base.Add(time.Hour)
	clock := func() time.Time { return now }
	service, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{Now: clock})
	require.NoError(t, err)
	defer func() { require.NoError(t, service.Close(context.Background())) }()
	silences, err := silences.New(silences.NewMemory(), silences.Options{Now: clock})
	require.NoError(t, err)
	var engines [2]*alertsource.Receiver
	for i := range engines {
		engines[i], err = alertsource.New(service, s, silences, alertsource.Options{Now: clock})
		require.NoError(t, err)
	}
	post := func(engine int, peer string, body []byte, active int) {
		t.Helper()
		_, err := engines[engine].Receive(t.Context(), peer, body)
		require.NoError(t, err)
		list, err := service.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, list, active)
	}
	firing, over := postOf("a", time.Time{}), postOf("a", base.Add(10*time.Minute))
	post(0, "1", firing, 1)
	post(1, "1", over, 0)
	post(0, "2", firing, 0) // late
	now = now.Add(10 * time.Second)
	post(0, "1", firing, 1)
	post(1, "2", firing, 1)
	post(0, "2", over, 1) // the old end, late
	post(0, "1", postOf("a", base.Add(20*time.Minute)), 0)
	events, err := service.Events(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Len(t, events, 4)
	list, _, err := s.Records(t.Context(), history.Filter{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, list, 2)
	sameTime(t, base.Add(20*time.Minute), list[0].CompletedAt, "the second end")
	sameTime(t, base.Add(10*time.Minute), list[1].CompletedAt, "the first end")
	require.True(t, list[0].Key.At.After(list[1].CompletedAt))
}

// testSenders posts what a pair of Alertmanagers sends, in each order, through a receiver over the store.
func testSenders(t *testing.T, s historyStore) {
	firing, over := time.Time{}, base.Add(time.Minute)
	for i, bodies := range [][][]byte{
		{postOf("a", firing), postOf("b", firing), postOf("a", over), postOf("b", over)},
		{postOf("a", firing), postOf("b", firing), postOf("b", over), postOf("a", over)},
		{postOf("b", firing), postOf("a", firing), postOf("a", over), postOf("b", over)},
		{postOf("b", firing), postOf("a", firing), postOf("b", over), postOf("a", over)},
		{postOf("a", firing), postOf("b", over)},
		{postOf("b", firing), postOf("a", over)},
	} {
		hour := time.Duration(i) * time.Hour // each order has times of its own
		later := func(body []byte) []byte {
			return []byte(strings.NewReplacer(
				base.Format(time.RFC3339Nano), base.Add(hour).Format(time.RFC3339Nano),
				base.Add(12*time.Second).Format(time.RFC3339Nano), base.Add(hour+12*time.Second).Format(time.RFC3339Nano),
				over.Format(time.RFC3339Nano), over.Add(hour).Format(time.RFC3339Nano)).Replace(string(body)))
		}
		now := func() time.Time { return base.Add(hour + 30*time.Minute) }
		service, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{Now: now})
		require.NoError(t, err)
		silences, err := silences.New(silences.NewMemory(), silences.Options{Now: now})
		require.NoError(t, err)
		webhook, err := alertsource.New(service, s, silences, alertsource.Options{Now: now})
		require.NoError(t, err)
		for _, body := range bodies {
			for range 2 { // a sender may repeat a post that was not answered
				result, err := webhook.Receive(t.Context(), "", later(body))
				require.NoError(t, err)
				require.True(t, result.Success)
			}
		}
		events, err := service.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Len(t, events, 2, "order %d: one alarm is raised and cleared", i)
		require.Equal(t, alarms.Raised, events[0].Kind)
		require.Equal(t, alarms.Cleared, events[1].Kind)
		sameTime(t, over.Add(hour), events[1].At, "the end")
		list, _, err := s.Records(t.Context(), history.Filter{From: base.Add(hour)}, 0, 10)
		require.NoError(t, err)
		require.NotEmpty(t, list)
		for _, r := range list {
			require.False(t, r.CompletedAt.IsZero(), "order %d: no record stays open", i)
		}
		require.NoError(t, service.Close(context.Background()))
	}
}
