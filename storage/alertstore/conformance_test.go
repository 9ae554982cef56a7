package alertstore_test

import (
	"testing"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/internal/storetest"
)

func TestSilences(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		alertingtest.TestSilenceStore(t, func(t testing.TB) silences.Store { return fresh(t).Silences() })
	})
}

func TestAlertHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		alertingtest.TestHistoryStore(t, func(t testing.TB) history.Store { return fresh(t).AlertHistory() })
	})
}

func TestOutbox(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		alertingtest.TestOutbox(t, func(t testing.TB) outbox.Store { return fresh(t).Outbox() })
	})
}
