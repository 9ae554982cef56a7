package alarms_test

import (
	"testing"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/alarmstest"
)

func TestMemory(t *testing.T) {
	alarmstest.TestStore(t, func(testing.TB) (alarmstest.Store, func() alarmstest.Store) { return alarms.NewMemory(), nil })
}

func TestMemoryRules(t *testing.T) {
	alarmstest.TestRuleStore(t, func(testing.TB) (alarmstest.RuleStore, func() alarmstest.RuleStore) {
		return alarms.NewMemory(), nil
	})
}
