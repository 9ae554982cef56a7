package storage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// Many rows and long lists of keys have statements of their own: whatever a text has in it, it must come
// back, and be found, as it is.
func TestManyAtOnceAreKeptAsTheyAre(t *testing.T) {
	odd := []string{
		`quote " and '`, `back\slash`, "tab\tand\nline", "{a,b}", "NULL", "", " ", "<&>", "Grüße 温度 🌡", "\u2028", "\x7f",
		"[1]", "?", "$1", "null", "0", "%_",
	}
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		service, err := alarms.New(t.Context(), db.Alarms(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		list := make([]alarms.Alarm, 1200)
		for i := range list {
			text := odd[i%len(odd)]
			list[i] = alarms.Alarm{
				Key: fmt.Sprintf("app:%s/%d", text, i), Source: "s" + text, Message: text, Severity: alarms.Severity(i % 4),
				Latching: i%2 == 0, Labels: map[string]string{"a": text, "b" + text: "c", "z": "plain"},
			}
		}
		first, err := service.RaiseMany(t.Context(), list)
		require.NoError(t, err)
		again, err := service.RaiseMany(t.Context(), list)
		require.NoError(t, err)
		for i := range list {
			require.Equal(t, alarms.Raised, first[i].Changed)
			require.Empty(t, again[i].Changed, list[i].Key)
			require.Equal(t, first[i].Occurrence, again[i].Occurrence)
			require.Equal(t, list[i].Labels, again[i].Occurrence.Labels)
			require.Equal(t, list[i].Message, again[i].Occurrence.Message)
		}
		events, err := db.Alarms().Events(t.Context(), 0, 5000)
		require.NoError(t, err)
		require.Len(t, events, len(list))
		for i, e := range events {
			require.Equal(t, first[i].Occurrence, e.Occurrence)
		}
		oddRecords(t, db.AlertHistory(), odd)
	})
}

func oddRecords(t *testing.T, alerts history.Complete, odd []string) {
	t.Helper()
	records := make([]alerting.Record, 300)
	keys := make([]alerting.RecordKey, len(records))
	for i := range records {
		text := odd[i%len(odd)]
		keys[i] = alerting.RecordKey{Alarm: fmt.Sprintf("webhook:%s%d", text, i), At: storetest.When.Add(time.Duration(i) * time.Second)}
		records[i] = alerting.Record{
			ID: fmt.Sprintf("01900000-0000-7000-8000-%012x", i), Key: keys[i], Source: "s" + text, SourceType: "Equipment", Title: text, Description: text,
			Labels: map[string]string{text: text}, Annotations: map[string]string{"summary": text},
		}
		if i%3 == 0 {
			records[i].CompletedAt = storetest.When.Add(time.Hour)
		}
	}
	require.NoError(t, alerts.ApplyRecords(t.Context(), history.Changes{Add: records}))
	require.NoError(t, alerts.ApplyRecords(t.Context(), history.Changes{Add: records}), "a repeat")
	for i := range records {
		got, err := alerts.Record(t.Context(), records[i].ID)
		require.NoError(t, err)
		require.Equal(t, records[i], got)
	}
	related, err := alerts.RelatedRecords(t.Context(), keys)
	require.NoError(t, err)
	require.Len(t, related.Records, len(records))
}
