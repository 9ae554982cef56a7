package dispatch_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/silences"
)

func newSilences(t testing.TB, store silences.Store, now func() time.Time) *silences.Service {
	t.Helper()
	s, err := silences.New(store, silences.Options{Now: now})
	require.NoError(t, err)
	return s
}

func wanted() silences.Silence {
	return silences.Silence{
		SourceType: "Sensor", Pattern: "Line-*", Reason: "pump exchange", StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
	}
}

type m = map[string]any

// firing is an alert as Alertmanager sends it.
func firing(name string, starts time.Time) m {
	return m{
		"status": "firing", "labels": m{"alertname": name, "severity": "critical", "instance": "plc-1:9100"},
		"annotations": m{"summary": name + " is too hot", "description": "100 °C"}, "startsAt": starts.Format(time.RFC3339Nano),
	}
}

func body(t testing.TB, alerts ...any) []byte {
	t.Helper()
	data, err := json.Marshal(m{"version": "4", "alerts": alerts})
	require.NoError(t, err)
	return data
}
