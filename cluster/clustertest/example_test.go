package clustertest_test

import (
	"testing"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/clustertest"
)

func Example() {
	// In a test of your own store:
	_ = func(t *testing.T) {
		clustertest.TestStore(t, func(testing.TB) cluster.Store { return cluster.NewMemory() })
	}
	// Output:
}

func TestMemory(t *testing.T) {
	clustertest.TestStore(t, func(testing.TB) cluster.Store { return cluster.NewMemory() })
}
