package alarmstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// TestUnreadableRules damages a rule: the others are read, and it can be removed.
func TestUnreadableRules(t *testing.T) {
	db := storetest.Must(storetest.TrySQLite(t.TempDir()))(t, storage.Options{})
	store := db.AlarmRules()
	for _, id := range []string{"a", "b"} {
		require.NoError(t, store.AddRule(t.Context(), rules.Rule{ID: id, Tag: "t", Kind: rules.High, Limit: 1, Enabled: true}))
	}
	db.Exec(t, `UPDATE alarm_rules SET rule = '{' WHERE id = 'a'`)
	list, err := store.Rules(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, rules.Rule{ID: "a", Unreadable: true}, list[0])
	require.False(t, list[1].Unreadable)
	_, err = store.Rule(t.Context(), "a")
	require.ErrorIs(t, err, storage.ErrCorrupt)
	require.NoError(t, store.RemoveRule(t.Context(), "a", nil))
}
