package discovery_test

import (
	"testing"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/discoverytest"
)

func TestMemory(t *testing.T) {
	discoverytest.TestStore(t, func(testing.TB) discovery.Store { return discovery.NewMemory() })
}
