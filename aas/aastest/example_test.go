package aastest_test

import (
	"github.com/otkit/otkit/aas/aastest"
	"github.com/otkit/otkit/aas/repository"
	"testing"
)

// A store's own test calls the suite with a function that opens an empty one.
func TestMemory(t *testing.T) {
	aastest.TestStore(t, func(testing.TB) (s repository.Store, another, reopen func() repository.Store) { return repository.NewMemory(), nil, nil })
}

func BenchmarkMemory(b *testing.B) {
	aastest.BenchmarkStore(b, func(testing.TB) repository.Store { return repository.NewMemory() })
}
