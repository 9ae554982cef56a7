package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/transport/rest"
)

// refusing are alarms that cannot be raised.
type refusing struct{ err error }

func (r refusing) Apply(context.Context, []alarms.Signal) ([]alarms.Result, error) { return nil, r.err }

// TestWebhookWithoutAStore has the sender try again whatever ails the store: it is told one status for all.
func TestWebhookWithoutAStore(t *testing.T) {
	for _, cause := range []error{alarms.ErrOutcomeUnknown, alarms.ErrClosed, context.DeadlineExceeded,
		alarms.ErrOutcomeUnknown.Wrap(fmt.Errorf("commit: %w", context.DeadlineExceeded))} {
		store := alerting.NewMemory()
		silences, err := alerting.NewSilences(store, alerting.SilencesOptions{})
		require.NoError(t, err)
		webhook, err := alerting.NewWebhook(refusing{cause}, store, silences, alerting.WebhookOptions{})
		require.NoError(t, err)
		const body = `{"alerts":[{"status":"firing","labels":{"alertname":"Hot"},"startsAt":"2026-03-29T01:00:00Z"}]}`
		w := httptest.NewRecorder()
		(&rest.Alerting{Webhook: webhook}).Receive(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, rest.WebhookPath, strings.NewReader(body)))
		require.Equal(t, http.StatusInternalServerError, w.Code, "%v: %s", cause, w.Body)
	}
}
