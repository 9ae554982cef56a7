package storage_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// BenchmarkWebhook posts 1,000 new alerts at once, as Alertmanager does with a large group: each is
// raised, recorded and stored durably before the answer.
func BenchmarkWebhook(b *testing.B) {
	const size = 1000
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			db, _ := benchDB(b, kind)
			service, err := alarms.New(b.Context(), db.Alarms(), alarms.Options{})
			require.NoError(b, err)
			silences, err := alerting.NewSilences(db.Silences(), alerting.SilencesOptions{})
			require.NoError(b, err)
			hook, err := alerting.NewWebhook(service, db.AlertHistory(), silences, alerting.WebhookOptions{})
			require.NoError(b, err)
			posts := 0
			for b.Loop() {
				b.StopTimer()
				body := alertBody(b, posts*size, size)
				posts++
				b.StartTimer()
				res, err := hook.Receive(b.Context(), body)
				require.NoError(b, err)
				require.True(b, res.Success)
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "alerts/s")
			require.NoError(b, service.Close())
			require.NoError(b, db.Close())
		})
	}
}

func alertBody(b *testing.B, first, count int) []byte {
	b.Helper()
	list := make([]map[string]any, count)
	for i := range list {
		name := fmt.Sprintf("press-%d", first+i)
		list[i] = map[string]any{
			"status": "firing", "labels": map[string]string{"alertname": "Hot", "severity": "critical", "instance": name},
			"annotations": map[string]string{"summary": "Too hot", "description": "Above the limit for 5 minutes"},
			"startsAt":    when.Format(time.RFC3339), "endsAt": "0001-01-01T00:00:00Z", "fingerprint": name,
		}
	}
	data, err := json.Marshal(map[string]any{"version": "4", "status": "firing", "alerts": list})
	require.NoError(b, err)
	return data
}
