package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
)

func TestAcknowledgingNullIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	body := requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, "/api/v1/alarms:acknowledge", `{"alarmIds":[null]}`), http.StatusBadRequest, "INVALID_REQUEST")
	require.Contains(t, fmt.Sprint(body["errors"]), "alarmIds[0]")
}

// A webhook that is full says so, with a status at which senders try again.
func TestAFullWebhookSaysSo(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Alerting.MaxActive = 1 })
	post := func(name string) answer {
		return p.call(nobody, http.MethodPost, "/api/v1.0/alertsource/webhook",
			map[string]any{"alerts": []any{map[string]any{"status": "firing", "labels": map[string]any{"alertname": name, "severity": "critical"}, "startsAt": "2026-01-01T00:00:00Z"}}})
	}
	require.Equal(t, http.StatusOK, post("first").status)
	body := requireProblem(t, post("second"), http.StatusInternalServerError, "TOO_MANY_ALARMS")
	require.Contains(t, body["detail"], "too many alarms of outside alerts are active")
}
