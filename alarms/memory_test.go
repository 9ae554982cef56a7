package alarms_test

import (
	"testing"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/alarmstest"
)

func TestMemory(t *testing.T) {
	alarmstest.TestStore(t, func(testing.TB) (alarms.Store, func() alarms.Store) { return alarms.NewMemory(), nil })
}

func BenchmarkMemory(b *testing.B) {
	alarmstest.BenchmarkStore(b, func(testing.TB) alarms.Store { return alarms.NewMemory() })
}
