package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// TestUnreadableRows damages a message of the outbox and events of the journal: what comes after them is
// not kept back.
func TestUnreadableRows(t *testing.T) {
	var log bytes.Buffer
	db := storetest.Must(storetest.TrySQLite(t.TempDir()))(t, storage.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	now := time.Now().UTC().Truncate(time.Microsecond)
	var add []outbox.Delivery
	for i := range 2 {
		id := fmt.Sprintf("01890000-0000-7000-8000-%012d", i)
		add = append(add, outbox.Delivery{ID: id, EventID: id, Seq: int64(i), Channel: "sms", State: outbox.Pending, NextAttempt: now,
			CreatedAt: now, ExpiresAt: now.Add(time.Hour), Notification: alerting.Notification{ID: id, Channel: "sms", Title: "too hot"}})
	}
	require.NoError(t, db.Outbox().Plan(t.Context(), 0, 2, add))
	_, err := db.StatePool().ExecContext(t.Context(), "UPDATE alert_deliveries SET notification = '{' WHERE seq = 0")
	require.NoError(t, err)
	claimed, err := db.Outbox().Claim(t.Context(), outbox.Claim{Channel: "sms", Owner: "a", Now: now, LeaseUntil: now.Add(time.Minute), Limit: 10})
	require.NoError(t, err)
	require.Len(t, claimed, 2)
	require.True(t, claimed[0].Unreadable)
	require.False(t, claimed[1].Unreadable)
	require.Equal(t, "too hot", claimed[1].Notification.Title)
	require.NoError(t, db.Outbox().Settle(t.Context(), "a", []outbox.Settlement{{ID: claimed[0].ID, State: outbox.DeadLettered, SettledAt: now}}, nil))
	dead, total, err := db.Outbox().DeadLetters(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	require.True(t, dead[0].Unreadable)

	service, err := alarms.New(t.Context(), db.Alarms(), alarms.Options{})
	require.NoError(t, err)
	for i := range 4 {
		_, err := service.Raise(t.Context(), alarms.Alarm{Key: fmt.Sprint(i), Source: "plc"})
		require.NoError(t, err)
	}
	require.NoError(t, service.Close(context.Background()))
	_, err = db.StatePool().ExecContext(t.Context(), "UPDATE alarm_events SET occurrence = '{' WHERE seq IN (1, 2, 4)")
	require.NoError(t, err)
	for _, limit := range []int{1, 2, 100} {
		events, err := db.Alarms().Events(t.Context(), 0, limit)
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.EqualValues(t, 3, events[0].Seq)
	}
	events, err := db.Alarms().Events(t.Context(), 3, 1)
	require.NoError(t, err)
	require.Empty(t, events)
	require.Equal(t, 1, strings.Count(log.String(), "event=4"), "it is logged once")
}
