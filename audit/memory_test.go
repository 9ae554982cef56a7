package audit_test

import (
	"testing"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/audit/audittest"
)

func TestMemory(t *testing.T) {
	audittest.TestStore(t, func(*testing.T) audit.Store { return audit.NewMemory() })
}
