package aastest_test

import (
	"testing"

	"github.com/otkit/otkit/aas/aastest"
	"github.com/otkit/otkit/aas/repository"
)

// A store of your own passes the suite in a test like this one.
func ExampleTestStore() {
	_ = func(t *testing.T) { // TestStore of your package
		aastest.TestStore(t, func(testing.TB) (repository.Store, func() repository.Store) {
			return repository.NewMemory(), nil // nil: another process cannot open a Memory
		})
	}
}

func TestMemory(t *testing.T) {
	aastest.TestStore(t, func(testing.TB) (repository.Store, func() repository.Store) { return repository.NewMemory(), nil })
}

func BenchmarkMemory(b *testing.B) {
	aastest.BenchmarkStore(b, func(testing.TB) repository.Store { return repository.NewMemory() })
}
