package alertingapi

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/internal/dbbench"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/transport/alertingapi/internal/gen"
)

// BenchmarkAlertHistoryPages measures pages of 50 out of 100,000 records.
func BenchmarkAlertHistoryPages(b *testing.B) {
	const records = 100_000
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		for n := 0; n < records; n += 5000 {
			list := make([]alerting.Record, 5000)
			for i := range list {
				list[i] = alerting.Record{
					ID:       uuid.Must(uuid.NewV7()).String(),
					Key:      alerting.RecordKey{Alarm: fmt.Sprintf("webhook:%016x", (n+i)%50_000), At: dbbench.Start.Add(time.Duration(n+i) * 100 * time.Millisecond)},
					Severity: alarms.Severity(i % 4), Source: fmt.Sprintf("line3.press%d", (n+i)%1000), SourceType: "Equipment",
					Title: "press is too hot", Description: "the press of line 3 is too hot", Labels: map[string]string{"job": "plant", "instance": "a"},
					Annotations: map[string]string{"summary": "press is too hot"},
				}
			}
			require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), history.Changes{Add: list}))
		}
		h, err := history.New(db.AlertHistory())
		require.NoError(b, err)
		api := &handlers{history: h}
		ready()
		for _, at := range dbbench.Pages(records) {
			size := 50
			dbbench.Measure(b, at.Name, cpu, func() error {
				_, err := api.ListAlertHistory(context.Background(), gen.ListAlertHistoryRequestObject{Params: gen.ListAlertHistoryParams{Page: &at.Page, PageSize: &size}})
				return err
			})
		}
	})
}

// BenchmarkRecordWrites measures what is written into a list of records: what keeping counts costs.
func BenchmarkRecordWrites(b *testing.B) {
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		ready()
		n := 0
		dbbench.Measure(b, "record-and-complete-1000", cpu, func() error {
			list, done := make([]alerting.Record, 1000), make([]history.Completion, 1000)
			for i := range list {
				list[i] = alerting.Record{ID: uuid.Must(uuid.NewV7()).String(), Source: fmt.Sprint("press", i), Title: "press is too hot",
					Key: alerting.RecordKey{Alarm: fmt.Sprint("webhook:", n+i), At: dbbench.Start.Add(time.Duration(n+i) * time.Second)}}
				done[i] = history.Completion{Key: list[i].Key, At: list[i].Key.At.Add(time.Hour)}
			}
			n += len(list)
			if err := db.AlertHistory().ApplyRecords(context.Background(), history.Changes{Add: list}); err != nil {
				return err
			}
			return db.AlertHistory().ApplyRecords(context.Background(), history.Changes{Complete: done})
		})
	})
}
