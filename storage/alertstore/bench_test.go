package alertstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/internal/storetest"
)

// BenchmarkWebhook posts 1,000 alerts at once, as Alertmanager does with a large group: new ones, each of
// which is raised, recorded and stored durably before the answer, and the same ones again and again.
func BenchmarkWebhook(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/new", func(b *testing.B) { benchWebhook(b, kind, 1) })
		b.Run(kind+"/again", func(b *testing.B) { benchWebhook(b, kind, 0) })
	}
}

func benchWebhook(b *testing.B, kind string, step int) {
	const size = 1000
	db, _ := storetest.Bench(b, kind)
	service, err := alarms.New(b.Context(), db.Alarms(), alarms.Options{})
	require.NoError(b, err)
	silences, err := silences.New(db.Silences(), silences.Options{})
	require.NoError(b, err)
	hook, err := alertsource.New(service, db.AlertHistory(), silences, alertsource.Options{MaxActive: 100_000_000})
	require.NoError(b, err)
	post := func(n int) {
		b.StopTimer()
		body := alertBody(b, n*size, size)
		b.StartTimer()
		res, err := hook.Receive(b.Context(), "", body)
		require.NoError(b, err)
		require.True(b, res.Success)
	}
	post(0)
	b.ResetTimer()
	n := 0
	for b.Loop() {
		n += step
		post(n)
	}
	b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "alerts/s")
	require.NoError(b, service.Close(context.Background()))
	require.NoError(b, db.Close())
}

func alertBody(b *testing.B, first, count int) []byte {
	b.Helper()
	list := make([]map[string]any, count)
	for i := range list {
		name := fmt.Sprintf("press-%d", first+i)
		list[i] = map[string]any{
			"status": "firing", "labels": map[string]string{"alertname": "Hot", "severity": "critical", "instance": name},
			"annotations": map[string]string{"summary": "Too hot", "description": "Above the limit for 5 minutes"},
			"startsAt":    storetest.When.Format(time.RFC3339), "endsAt": "0001-01-01T00:00:00Z", "fingerprint": name,
		}
	}
	data, err := json.Marshal(map[string]any{"version": "4", "status": "firing", "alerts": list})
	require.NoError(b, err)
	return data
}
