package aastest_test

import (
	"testing"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aastest"
)

// A store's own test calls the suite with a function that opens an empty one.
func TestMemory(t *testing.T) {
	aastest.TestStore(t, func(testing.TB) (aas.Store, func() aas.Store) { return aas.NewMemory(), nil })
}

func BenchmarkMemory(b *testing.B) {
	aastest.BenchmarkStore(b, func(testing.TB) aas.Store { return aas.NewMemory() })
}
