package alertingtest_test

import (
	"testing"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
)

// The suites run for stores that implement only what is required.
func TestRequiredHalf(t *testing.T) {
	t.Run("outbox", func(t *testing.T) {
		alertingtest.TestOutbox(t, func(testing.TB) outbox.Store { return struct{ outbox.Store }{outbox.NewMemory()} })
	})
	t.Run("history", func(t *testing.T) {
		alertingtest.TestHistoryStore(t, func(testing.TB) history.Store { return struct{ history.Store }{history.NewMemory()} })
	})
}
