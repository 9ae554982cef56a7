package history_test

import (
	"testing"

	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestMemoryHistory(t *testing.T) {
	tagstest.TestHistoryStore(t, func(testing.TB) history.Store { return history.NewMemory() })
}

func BenchmarkMemoryHistory(b *testing.B) {
	tagstest.BenchmarkHistoryStore(b, func(testing.TB) history.Store { return history.NewMemory() })
}
