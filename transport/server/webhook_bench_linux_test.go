package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/storetest"
)

// BenchmarkWebhookCPU measures the processor time of the whole server for 100,000 new alerts over REST, in posts of 1,000 and of 50, with
// durable stores and without routes. The client, in the same process, sends bodies that were made before; PostgreSQL's own time is not
// included.
func BenchmarkWebhookCPU(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, size := range []int{1000, 50} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) { benchWebhookCPU(b, kind, size) })
		}
	}
}

func benchWebhookCPU(b *testing.B, kind string, size int) {
	b.Helper()
	db, _ := storetest.Bench(b, kind)
	p := start(b, func(o *engine.Options) {
		o.Tags.Drivers = nil
		o.Alarms.Alarms, o.Alarms.Resolutions, o.Alarms.Rules, o.Alarms.RuleStates = db.Alarms(), db.Resolutions(), db.AlarmRules(), db.AlarmRules()
		o.Alerting.Silences, o.Alerting.History, o.Alerting.Outbox, o.Alerting.DeadLetters = db.Silences(), db.AlertHistory(), db.Outbox(), db.Outbox()
		o.Alerting.MaxActive = 10_000_000
	})
	bodies := make([][]byte, b.N)
	for n := range bodies {
		bodies[n] = webhookBody(b, n*size, size)
	}
	cpu := func() time.Duration {
		var r syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	b.ResetTimer()
	before := cpu()
	for _, body := range bodies {
		answer, err := http.Post(p.url+"/api/v1.0/alertsource/webhook", "application/json", bytes.NewReader(body))
		require.NoError(b, err)
		require.NoError(b, answer.Body.Close())
		require.Equal(b, 200, answer.StatusCode)
	}
	time.Sleep(time.Second) // what follows the answers is part of it
	b.ReportMetric((cpu()-before).Seconds()/float64(b.N*size)*100_000, "cpu-s/100,000")
}

func webhookBody(b *testing.B, first, count int) []byte {
	b.Helper()
	list := make([]map[string]any, count)
	for i := range list {
		name := fmt.Sprintf("press-%d", first+i)
		list[i] = map[string]any{
			"status": "firing", "labels": map[string]string{"alertname": "Hot", "severity": "critical", "instance": name, "job": "node"},
			"annotations": map[string]string{"summary": "Too hot", "description": "Above the limit for 5 minutes"},
			"startsAt":    "2026-11-22T00:00:00Z", "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://p:9090/graph?g0.expr=x", "fingerprint": name,
		}
	}
	data, err := json.Marshal(map[string]any{"version": "4", "status": "firing", "receiver": "otkit", "externalURL": "http://am", "alerts": list})
	require.NoError(b, err)
	return data
}
