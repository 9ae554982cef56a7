package alertingtest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// senderBody is a body of Alertmanager; its status and times are to be filled in.
const senderBody = `{"receiver":"otkit","status":"STATUS","alerts":[{"status":"STATUS","labels":{"alertname":"HighTemperature",
"instance":"oven-1:9100","job":"ovens","severity":"critical"},"annotations":{"description":"Oven is at 312 °C",
"summary":"Oven 1 too hot"},"startsAt":"STARTS","endsAt":"ENDS","generatorURL":"http://SENDER:9090/graph?g0.expr=t+%3E+300",
"fingerprint":"d2c2a1a5b8a9e2f1"}],"groupLabels":{"alertname":"HighTemperature"},"commonLabels":{"alertname":
"HighTemperature","instance":"oven-1:9100","job":"ovens","severity":"critical"},"commonAnnotations":{},"externalURL":
"http://SENDER:9093","version":"4","groupKey":"{}:{alertname=\"HighTemperature\"}","truncatedAlerts":0}`

// told is a body of the sender named a, which heard of the alert first, or of b.
func told(sender string, ended time.Time) []byte {
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

// testSenders posts what a pair of Alertmanagers sends, in each order, through a webhook over the store.
func testSenders(t *testing.T, s alerting.HistoryStore) {
	firing, over := time.Time{}, base.Add(time.Minute)
	for i, bodies := range [][][]byte{
		{told("a", firing), told("b", firing), told("a", over), told("b", over)},
		{told("a", firing), told("b", firing), told("b", over), told("a", over)},
		{told("b", firing), told("a", firing), told("a", over), told("b", over)},
		{told("b", firing), told("a", firing), told("b", over), told("a", over)},
		{told("a", firing), told("b", over)},
		{told("b", firing), told("a", over)},
	} {
		hour := time.Duration(i) * time.Hour // the orders do not meet: each has times of its own
		later := func(body []byte) []byte {
			return []byte(strings.NewReplacer(
				base.Format(time.RFC3339Nano), base.Add(hour).Format(time.RFC3339Nano),
				base.Add(12*time.Second).Format(time.RFC3339Nano), base.Add(hour+12*time.Second).Format(time.RFC3339Nano),
				over.Format(time.RFC3339Nano), over.Add(hour).Format(time.RFC3339Nano)).Replace(string(body)))
		}
		now := func() time.Time { return base.Add(hour + 30*time.Minute) }
		service, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{Now: now})
		require.NoError(t, err)
		silences, err := alerting.NewSilences(alerting.NewMemory(), alerting.SilencesOptions{Now: now})
		require.NoError(t, err)
		webhook, err := alerting.NewWebhook(service, s, silences, alerting.WebhookOptions{Now: now})
		require.NoError(t, err)
		for again := range 2 { // a sender may repeat it all
			for _, body := range bodies {
				result, err := webhook.Receive(t.Context(), later(body))
				require.NoError(t, err)
				require.True(t, result.Success)
			}
			events, err := service.Events(t.Context(), 0, 100)
			require.NoError(t, err)
			require.Len(t, events, 2, "order %d, again %d: one alarm is raised and cleared", i, again)
			require.Equal(t, alarms.Raised, events[0].Kind)
			require.Equal(t, alarms.Cleared, events[1].Kind)
			sameTime(t, over.Add(hour), events[1].At, "the end")
		}
		list, _, err := s.Records(t.Context(), alerting.RecordFilter{From: base.Add(hour)}, 0, 10)
		require.NoError(t, err)
		require.NotEmpty(t, list)
		for _, r := range list {
			require.False(t, r.CompletedAt.IsZero(), "order %d: no record stays open", i)
		}
		require.NoError(t, service.Close())
	}
}
