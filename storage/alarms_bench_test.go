package storage_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/storage"
)

// raiseBatch writes one new alarm of each key and its event, as the service does.
func raiseBatch(ctx context.Context, s alarms.Store, first, count int) error {
	refs := make([]alarms.Ref, count)
	for i := range refs {
		refs[i] = alarms.Ref{Key: fmt.Sprintf("app:press/%d", first+i), Create: true}
	}
	return s.Write(ctx, refs, func(next int64, found []alarms.Found) (alarms.Changes, error) {
		var c alarms.Changes
		for i, f := range found {
			o := benchAlarm(first+i, next+int64(i), f.Condition.Code, f.Condition.Key)
			f.Condition.Last = o
			c.Conditions, c.Occurrences = append(c.Conditions, f.Condition), append(c.Occurrences, o)
			c.Events = append(c.Events, alarms.Event{Seq: o.Seq, ID: uuid.Must(uuid.NewV7()).String(), At: o.RaisedAt, Kind: alarms.Raised, Occurrence: *o, New: true})
		}
		return c, nil
	})
}

func benchAlarm(i int, seq, code int64, key string) *alarms.Occurrence {
	return &alarms.Occurrence{
		Seq: seq, ID: uuid.Must(uuid.NewV7()).String(), Code: code, Key: key, Source: fmt.Sprintf("line3.press%d", i%1000),
		SourceType: "Sensor", Message: "line3.press.temperature is 91.5, above 80", Severity: alarms.Severity(i % 4),
		RaisedAt: when.Add(time.Duration(i) * time.Millisecond), Active: true, Labels: map[string]string{"group": "1"},
	}
}

// bareAlarms puts the rows that a new alarm has into the tables, with nothing around it.
func bareAlarms(b *testing.B, bare *sql.DB, first, count int) {
	b.Helper()
	tx, err := bare.Begin()
	require.NoError(b, err)
	prepare := func(query string) *sql.Stmt {
		stmt, err := tx.Prepare(query)
		require.NoError(b, err)
		return stmt
	}
	condition := prepare(`INSERT INTO alarm_conditions (code, alarm_key, withheld, shelved_until_us, shelved_by, last_seq) VALUES (?,?,?,?,?,?)`)
	occurrence := prepare(`INSERT INTO alarm_occurrences (seq, id, code, source, source_type, message, severity, raised_us,
		returned_us, cleared_us, acknowledged_us, acknowledged_by, comment, active, latching, withheld, labels) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	event := prepare(`INSERT INTO alarm_events (seq, id, at_us, kind, done_by, comment, until_us, is_new, occurrence) VALUES (?,?,?,?,?,?,?,?,?)`)
	snapshot := fmt.Sprintf("%0330d", 7)
	for i := first; i < first+count; i++ {
		o := benchAlarm(i, int64(i+1), int64(i+1), fmt.Sprintf("app:press/%d", i))
		_, err = condition.Exec(o.Code, o.Key, 0, nil, "", o.Seq)
		require.NoError(b, err)
		_, err = occurrence.Exec(o.Seq, o.ID, o.Code, o.Source, o.SourceType, o.Message, int64(o.Severity), o.RaisedAt.UnixMicro(),
			nil, nil, nil, "", "", true, false, 0, `{"group":"1"}`)
		require.NoError(b, err)
		_, err = event.Exec(o.Seq, uuid.Must(uuid.NewV7()).String(), o.RaisedAt.UnixMicro(), "Raised", "", "", nil, true, snapshot)
		require.NoError(b, err)
	}
	require.NoError(b, tx.Commit())
}

// BenchmarkAlarmBatch measures 1000 new alarms in one call, bare inserts of the same rows beside it,
// and 1000 known alarms that come again and again.
func BenchmarkAlarmBatch(b *testing.B) {
	const size = 1000
	rate := func(b *testing.B) { b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "alarms/s") }
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/store", func(b *testing.B) {
			db, _ := benchDB(b, kind)
			n := 0
			for b.Loop() {
				require.NoError(b, raiseBatch(b.Context(), db.Alarms(), n, size))
				n += size
			}
			rate(b)
		})
		if kind == "sqlite" {
			b.Run(kind+"/bare", func(b *testing.B) {
				_, bare := benchDB(b, kind)
				n := 0
				for b.Loop() {
					bareAlarms(b, bare, n, size)
					n += size
				}
				rate(b)
			})
		}
		b.Run(kind+"/again", func(b *testing.B) {
			db, _ := benchDB(b, kind)
			for b.Loop() {
				require.NoError(b, raiseBatch(b.Context(), db.Alarms(), 0, size))
			}
			rate(b)
		})
	}
}

// BenchmarkAlarmSingle measures one alarm a call: at the store, and at the service before it.
func BenchmarkAlarmSingle(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, count := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d/store", kind, count), func(b *testing.B) {
				if kind == "postgres" && count > 1 {
					b.Skip("the service gathers calls")
				}
				db, _ := benchDB(b, kind)
				callers(b, count, func(i int) error { return raiseBatch(context.Background(), db.Alarms(), i, 1) })
			})
			b.Run(fmt.Sprintf("%s/%d/service", kind, count), func(b *testing.B) {
				db, _ := benchDB(b, kind)
				s, err := alarms.New(context.Background(), db.Alarms(), alarms.Options{})
				require.NoError(b, err)
				defer s.Close()
				callers(b, count, func(i int) error {
					_, err := s.Raise(context.Background(), alarms.Alarm{Key: fmt.Sprintf("app:press/%d", i), Source: "line3.press", Severity: alarms.Error})
					return err
				})
			})
		}
	}
}

// BenchmarkAlarmList measures the reads that people wait for.
func BenchmarkAlarmList(b *testing.B) {
	const active, ended = 20_000, 180_000
	for _, kind := range []string{"sqlite", "postgres"} {
		db, bare := benchDB(b, kind)
		for n := 0; n < active+ended; n += 2000 {
			require.NoError(b, raiseBatch(b.Context(), db.Alarms(), n, 2000))
		}
		_, err := bare.Exec(fmt.Sprintf("UPDATE alarm_occurrences SET active = FALSE, cleared_us = raised_us + 1000 WHERE code <= %d", ended))
		require.NoError(b, err)
		for _, q := range []struct {
			name  string
			query alarms.Query
		}{
			{"active", alarms.Query{Active: true, Withheld: alarms.ShowOpen, Limit: 500, Count: true}},
			{"active-deep", alarms.Query{Active: true, Withheld: alarms.ShowOpen, Severities: alarms.SetOf(alarms.Error, alarms.Critical), Offset: 9000, Limit: 500, Count: true}},
			{"active-stale", alarms.Query{Active: true, End: when.Add(time.Hour), Limit: 500, Count: true}},
			{"history", alarms.Query{Start: when, End: when.Add(time.Hour), Limit: 500, Count: true}},
			{"history-severity", alarms.Query{Start: when, End: when.Add(time.Hour), Severities: alarms.SetOf(alarms.Error), Offset: 1000, Limit: 100, Count: true}},
			{"code", alarms.Query{Code: 77, Limit: 1}},
		} {
			b.Run(kind+"/"+q.name, func(b *testing.B) {
				for b.Loop() {
					_, err := db.Alarms().Occurrences(b.Context(), q.query)
					require.NoError(b, err)
				}
			})
		}
		b.Run(kind+"/journal", func(b *testing.B) {
			for b.Loop() {
				list, err := db.Alarms().Events(b.Context(), 100_000, 1000)
				require.NoError(b, err)
				require.Len(b, list, 1000)
			}
		})
		b.Run(kind+"/hours", func(b *testing.B) {
			for b.Loop() {
				_, err := db.Alarms().Hours(b.Context(), when, when.Add(24*time.Hour))
				require.NoError(b, err)
			}
		})
		require.NoError(b, db.Close())
	}
}

func benchRecords(first, count int) []alerting.Record {
	list := make([]alerting.Record, count)
	for i := range list {
		n := first + i
		list[i] = alerting.Record{
			ID:       fmt.Sprintf("01900000-0000-7000-8000-%012x", n),
			Key:      alerting.RecordKey{Alarm: fmt.Sprintf("webhook:%016x", n%50_000), At: when.Add(time.Duration(n) * 2592 * time.Millisecond)},
			Severity: alarms.Severity(n % 4), Source: fmt.Sprintf("line3.press%d", n*7919%1000), SourceType: "Equipment",
			Title: "press is too hot", Description: "the press of line 3 is too hot", Labels: map[string]string{"job": "plant", "instance": "a"},
			Annotations: map[string]string{"summary": "press is too hot"},
		}
	}
	return list
}

// BenchmarkAlertHistory measures batches as a webhook gives them, and reads over a million records,
// which are those of 30 days.
func BenchmarkAlertHistory(b *testing.B) {
	const size, many = 1000, 1_000_000
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/apply", func(b *testing.B) {
			db, _ := benchDB(b, kind)
			n := 0
			for b.Loop() {
				require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), benchRecords(n, size), nil))
				n += size
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "records/s")
		})
		b.Run(kind+"/complete", func(b *testing.B) {
			db, _ := benchDB(b, kind)
			n := 0
			for b.Loop() {
				list := benchRecords(n, size)
				done := make([]alerting.Completion, size)
				for i := range list {
					done[i] = alerting.Completion{Key: list[i].Key, At: list[i].Key.At.Add(time.Hour)}
				}
				require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), list, done))
				n += size
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "records/s")
		})
		if testing.Short() {
			continue
		}
		db, bare := benchDB(b, kind)
		for n := 0; n < many; n += 5000 {
			require.NoError(b, db.AlertHistory().ApplyRecords(b.Context(), benchRecords(n, 5000), nil))
		}
		if kind == "postgres" {
			_, err := bare.Exec("VACUUM ANALYZE")
			require.NoError(b, err)
		}
		benchAlertReads(b, kind, db)
		require.NoError(b, db.Close())
	}
}

func benchAlertReads(b *testing.B, kind string, db *storage.DB) {
	h, ctx := db.AlertHistory(), b.Context()
	from, to := when.Add(time.Hour), when.Add(29*24*time.Hour)
	for _, read := range []struct {
		name string
		run  func() error
	}{
		{"by-severity", func() error { _, err := h.CountBySeverity(ctx, time.Time{}, time.Time{}); return err }},
		{"by-severity-range", func() error { _, err := h.CountBySeverity(ctx, from, to); return err }},
		{"by-source", func() error { _, err := h.CountBySource(ctx, time.Time{}, time.Time{}); return err }},
		{"by-source-range", func() error { _, err := h.CountBySource(ctx, from, to); return err }},
		{"page", func() error { _, _, err := h.Records(ctx, alerting.RecordFilter{}, 0, 100); return err }},
		{"page-deep", func() error { _, _, err := h.Records(ctx, alerting.RecordFilter{}, 900_000, 100); return err }},
		{"page-range", func() error {
			_, _, err := h.Records(ctx, alerting.RecordFilter{From: from, To: to}, 0, 100)
			return err
		}},
		{"page-severity", func() error {
			_, _, err := h.Records(ctx, alerting.RecordFilter{From: from, To: to, Severities: alarms.SetOf(alarms.Critical)}, 0, 100)
			return err
		}},
		{"page-source", func() error {
			_, _, err := h.Records(ctx, alerting.RecordFilter{Source: "PRESS77"}, 0, 100)
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
			db, _ := benchDB(b, kind)
			n := 0
			for b.Loop() {
				planDeliveries(b, db.Outbox(), n, size, when)
				n += size
				list, err := db.Outbox().Claim(b.Context(), alerting.Claim{Channel: "sms", Owner: "a", Now: when, LeaseUntil: when.Add(time.Minute), Limit: size})
				require.NoError(b, err)
				done := make([]alerting.Settlement, len(list))
				for i, d := range list {
					done[i] = alerting.Settlement{ID: d.ID, State: alerting.Sent, Attempts: d.Attempts, SettledAt: when}
				}
				require.Len(b, done, size)
				require.NoError(b, db.Outbox().Settle(b.Context(), "a", done, nil))
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "messages/s")
		})
		b.Run(kind+"/nothing", func(b *testing.B) {
			db, _ := benchDB(b, kind)
			planDeliveries(b, db.Outbox(), 0, 10_000, when.Add(time.Hour))
			for b.Loop() {
				list, err := db.Outbox().Claim(b.Context(), alerting.Claim{Channel: "sms", Owner: "a", Now: when, LeaseUntil: when.Add(time.Minute), Limit: size})
				require.NoError(b, err)
				require.Empty(b, list)
			}
		})
	}
}

func planDeliveries(tb testing.TB, o alerting.Outbox, first, count int, due time.Time) {
	tb.Helper()
	list := make([]alerting.Delivery, count)
	for i := range list {
		n := first + i
		id := fmt.Sprintf("01900000-0000-7000-8000-%012x", n)
		list[i] = alerting.Delivery{
			ID: id, Seq: int64(n), EventID: id, Occurrence: id, Channel: "sms", State: alerting.Pending, NextAttempt: due,
			CreatedAt: when, ExpiresAt: when.Add(24 * time.Hour),
			Notification: alerting.Notification{ID: id, EventID: id, Channel: "sms", Title: "[Error] press", Body: "the press is too hot", At: when},
		}
	}
	at, err := o.Cursor(tb.Context())
	require.NoError(tb, err)
	require.NoError(tb, o.Plan(tb.Context(), at, at+1, list))
}
