package rules_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alarms/rules/rulestest"
)

func TestMemoryRules(t *testing.T) {
	rulestest.TestStore(t, func(testing.TB) (rules.Store, func() rules.Store) {
		return rules.NewMemory(nil), nil
	})
}

func TestMemoryKeepsTheConditionsOfRules(t *testing.T) {
	store := alarms.NewMemory()
	kept := rules.NewMemory(store)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	service, err := alarms.New(t.Context(), store, alarms.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	defer func() { require.NoError(t, service.Close(context.Background())) }()
	require.NoError(t, kept.AddRule(t.Context(), rules.Rule{ID: "hot"}))
	for _, key := range []string{"rule:hot", "rule:gone"} {
		_, err := service.Raise(t.Context(), alarms.Alarm{Key: key, Source: "s"})
		require.NoError(t, err)
		_, err = service.Clear(t.Context(), alarms.ByKey(key), "", "")
		require.NoError(t, err)
	}
	require.NoError(t, service.Trim(t.Context(), now.Add(time.Hour)))
	_, err = service.Condition(t.Context(), alarms.ByKey("rule:hot"))
	require.NoError(t, err)
	_, err = service.Condition(t.Context(), alarms.ByKey("rule:gone"))
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	require.NoError(t, kept.RemoveRule(t.Context(), "hot", nil))
	require.NoError(t, service.Trim(t.Context(), now.Add(time.Hour)))
	_, err = service.Condition(t.Context(), alarms.ByKey("rule:hot"))
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
}
