package alertstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/internal/storetest"
)

// BenchmarkAlertHistory measures batches as a webhook gives them, and reads over a million records,
// which are those of 30 days.
func BenchmarkAlertHistory(b *testing.B) {
	const size, many = 1000, 1_000_000
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/apply", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			n := 0
			for b.Loop() {
				require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), history.Changes{Add: storetest.Records(n, size)}))
				n += size
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "records/s")
		})
		b.Run(kind+"/complete", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			n := 0
			for b.Loop() {
				list := storetest.Records(n, size)
				done := make([]history.Completion, size)
				for i := range list {
					done[i] = history.Completion{Key: list[i].Key, At: list[i].Key.At.Add(time.Hour)}
				}
				require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), history.Changes{Add: list, Complete: done}))
				n += size
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "records/s")
		})
		if testing.Short() {
			continue
		}
		db, bare := storetest.Bench(b, kind)
		for n := 0; n < many; n += 5000 {
			require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), history.Changes{Add: storetest.Records(n, 5000)}))
		}
		if kind == "postgres" {
			_, err := bare.Exec("VACUUM ANALYZE")
			require.NoError(b, err)
		}
		benchAlertReads(b, kind, db)
		require.NoError(b, db.Close())
	}
}

func benchAlertReads(b *testing.B, kind string, db *storetest.DB) {
	h, ctx := db.AlertHistory(), b.Context()
	from, to := storetest.When.Add(time.Hour), storetest.When.Add(29*24*time.Hour)
	for _, read := range []struct {
		name string
		run  func() error
	}{
		{"by-severity", func() error { _, err := h.CountBySeverity(ctx, time.Time{}, time.Time{}); return err }},
		{"by-severity-range", func() error { _, err := h.CountBySeverity(ctx, from, to); return err }},
		{"by-source", func() error { _, err := h.CountBySource(ctx, time.Time{}, time.Time{}); return err }},
		{"by-source-range", func() error { _, err := h.CountBySource(ctx, from, to); return err }},
		{"page", func() error { _, _, err := h.Records(ctx, history.Filter{}, 0, 100); return err }},
		{"page-deep", func() error { _, _, err := h.Records(ctx, history.Filter{}, 900_000, 100); return err }},
		{"page-range", func() error {
			_, _, err := h.Records(ctx, history.Filter{From: from, To: to}, 0, 100)
			return err
		}},
		{"page-severity", func() error {
			_, _, err := h.Records(ctx, history.Filter{From: from, To: to, Severities: alarms.SetOf(alarms.Critical)}, 0, 100)
			return err
		}},
		{"page-source", func() error {
			_, _, err := h.Records(ctx, history.Filter{Source: "PRESS77"}, 0, 100)
			return err
		}},
	} {
		b.Run(kind+"/"+read.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, read.run())
			}
		})
	}
}

// BenchmarkOutbox measures a message's way through the outbox, in batches of 100, and a claim that
// finds nothing while 10,000 messages wait for their time.
func BenchmarkOutbox(b *testing.B) {
	const size = 100
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/send", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			n := 0
			for b.Loop() {
				storetest.PlanDeliveries(b, db.Outbox(), n, size, storetest.When)
				n += size
				list, err := db.Outbox().Claim(b.Context(), outbox.Claim{Channel: "sms", Owner: "a", Now: storetest.When, LeaseUntil: storetest.When.Add(time.Minute), Limit: size})
				require.NoError(b, err)
				done := make([]outbox.Settlement, len(list))
				for i, d := range list {
					done[i] = outbox.Settlement{ID: d.ID, State: outbox.Sent, Attempts: d.Attempts, SettledAt: storetest.When}
				}
				require.Len(b, done, size)
				require.NoError(b, db.Outbox().Settle(b.Context(), "a", done, nil))
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "messages/s")
		})
		b.Run(kind+"/nothing", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			storetest.PlanDeliveries(b, db.Outbox(), 0, 10_000, storetest.When.Add(time.Hour))
			for b.Loop() {
				list, err := db.Outbox().Claim(b.Context(), outbox.Claim{Channel: "sms", Owner: "a", Now: storetest.When, LeaseUntil: storetest.When.Add(time.Minute), Limit: size})
				require.NoError(b, err)
				require.Empty(b, list)
			}
		})
	}
}
