package silences_test

import (
	"testing"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/silences"
)

func TestMemory(t *testing.T) {
	alertingtest.TestSilenceStore(t, func(testing.TB) silences.Store { return silences.NewMemory() })
}
