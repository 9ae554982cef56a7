package discovery_test

import (
	"testing"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/discoverytest"
)

func TestMemory(t *testing.T) {
	discoverytest.TestSharedStore(t, func(testing.TB) discovery.SharedStore { return discovery.NewMemory() })
}
