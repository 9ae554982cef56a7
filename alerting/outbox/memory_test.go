package outbox_test

import (
	"testing"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/outbox"
)

func TestMemory(t *testing.T) {
	alertingtest.TestOutbox(t, func(testing.TB) outbox.Store { return outbox.NewMemory() })
}
