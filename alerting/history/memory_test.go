package history_test

import (
	"testing"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/history"
)

func TestMemory(t *testing.T) {
	alertingtest.TestHistoryStore(t, func(testing.TB) history.Store { return history.NewMemory() })
}
