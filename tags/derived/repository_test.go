package derived_test

import (
	"testing"

	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/derived/derivedtest"
)

func TestMemory(t *testing.T) {
	derivedtest.TestRepository(t, func(testing.TB) derived.Repository { return derived.NewMemory() })
}
