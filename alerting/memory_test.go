package alerting_test

import (
	"testing"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertingtest"
)

func TestMemory(t *testing.T) {
	t.Run("silences", func(t *testing.T) {
		alertingtest.TestSilenceStore(t, func(testing.TB) alerting.SilenceStore { return alerting.NewMemory() })
	})
	t.Run("history", func(t *testing.T) {
		alertingtest.TestHistoryStore(t, func(testing.TB) alerting.HistoryStore { return alerting.NewMemory() })
	})
	t.Run("outbox", func(t *testing.T) {
		alertingtest.TestOutbox(t, func(testing.TB) alertingtest.Outbox { return alerting.NewMemory() })
	})
}
