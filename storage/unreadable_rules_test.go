package storage_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/storage"
)

// TestUnreadablePosts damages messages to browsers: those after them are told.
func TestUnreadablePosts(t *testing.T) {
	var log bytes.Buffer
	db := must(trySQLite(t.TempDir()))(t, storage.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for i := range 4 {
		require.NoError(t, db.Board().Post(t.Context(), alerting.Notification{ID: fmt.Sprint(i + 1)}))
	}
	_, err := db.StatePool().ExecContext(t.Context(), `UPDATE alert_posts SET notification = '{"at": 5}' WHERE seq IN (1, 2, 4)`)
	require.NoError(t, err)
	for _, limit := range []int{1, 2, 100} {
		posts, err := db.Board().Posts(t.Context(), 0, limit)
		require.NoError(t, err)
		require.Len(t, posts, 1)
		require.EqualValues(t, 3, posts[0].Seq)
	}
	posts, err := db.Board().Posts(t.Context(), 3, 1)
	require.NoError(t, err)
	require.Empty(t, posts)
	require.Equal(t, 1, strings.Count(log.String(), "post=4"), "it is logged once")
}

// TestUnreadableRules damages a rule: the others are read, and it can be removed.
func TestUnreadableRules(t *testing.T) {
	db := must(trySQLite(t.TempDir()))(t, storage.Options{})
	rules := db.AlarmRules()
	for _, id := range []string{"a", "b"} {
		require.NoError(t, rules.AddRule(t.Context(), alarms.Rule{ID: id, Tag: "t", Kind: alarms.High, Limit: 1, Enabled: true}))
	}
	_, err := db.StatePool().ExecContext(t.Context(), `UPDATE alarm_rules SET rule = '{' WHERE id = 'a'`)
	require.NoError(t, err)
	list, err := rules.Rules(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, alarms.Rule{ID: "a", Unreadable: true}, list[0])
	require.False(t, list[1].Unreadable)
	_, err = rules.Rule(t.Context(), "a")
	require.ErrorIs(t, err, storage.ErrCorrupt)
	require.NoError(t, rules.RemoveRule(t.Context(), "a"))
}
