package alertingapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/silences"
)

// refusing are alarms that cannot be raised.
type refusing struct{ err error }

func (r refusing) Apply(context.Context, []alarms.Signal) ([]alarms.Result, error) { return nil, r.err }

// TestWebhookWithoutAStore has the sender try again whatever ails the store: it is told one status for all.
func TestWebhookWithoutAStore(t *testing.T) {
	for _, cause := range []error{alarms.ErrOutcomeUnknown, alarms.ErrClosed, context.DeadlineExceeded,
		alarms.ErrOutcomeUnknown.Wrap(fmt.Errorf("commit: %w", context.DeadlineExceeded))} {
		silences, err := silences.New(silences.NewMemory(), silences.Options{})
		require.NoError(t, err)
		webhook, err := alertsource.New(refusing{cause}, history.NewMemory(), silences, alertsource.Options{})
		require.NoError(t, err)
		const body = `{"alerts":[{"status":"firing","labels":{"alertname":"Hot"},"startsAt":"2026-03-29T01:00:00Z"}]}`
		w := httptest.NewRecorder()
		(&handlers{webhook: webhook}).Receive(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, WebhookPath, strings.NewReader(body)))
		require.Equal(t, http.StatusInternalServerError, w.Code, "%v: %s", cause, w.Body)
	}
}
