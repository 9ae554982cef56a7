package alarmstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/storetest"
)

// bareAlarms inserts the rows of new alarms and does nothing else.
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
		o := storetest.Occurrence(i, int64(i+1), int64(i+1), fmt.Sprintf("app:press/%d", i))
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

// BenchmarkAlarmBatch measures 1000 new alarms in one call, bare inserts of the same rows,
// and 1000 known alarms that recur.
func BenchmarkAlarmBatch(b *testing.B) {
	const size = 1000
	rate := func(b *testing.B) { b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "alarms/s") }
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/store", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			n := 0
			for b.Loop() {
				require.NoError(b, storetest.RaiseAlarms(b.Context(), db.Alarms(), n, size))
				n += size
			}
			rate(b)
		})
		if kind == "sqlite" {
			b.Run(kind+"/bare", func(b *testing.B) {
				_, bare := storetest.Bench(b, kind)
				n := 0
				for b.Loop() {
					bareAlarms(b, bare, n, size)
					n += size
				}
				rate(b)
			})
		}
		b.Run(kind+"/again", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			for b.Loop() {
				require.NoError(b, storetest.RaiseAlarms(b.Context(), db.Alarms(), 0, size))
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
				db, _ := storetest.Bench(b, kind)
				storetest.Callers(b, count, func(i int) error { return storetest.RaiseAlarms(context.Background(), db.Alarms(), i, 1) })
			})
			b.Run(fmt.Sprintf("%s/%d/service", kind, count), func(b *testing.B) {
				db, _ := storetest.Bench(b, kind)
				s, err := alarms.New(context.Background(), db.Alarms(), alarms.Options{})
				require.NoError(b, err)
				defer s.Close(context.Background())
				storetest.Callers(b, count, func(i int) error {
					_, err := s.Raise(context.Background(), alarms.Alarm{Key: fmt.Sprintf("app:press/%d", i), Source: "line3.press", Severity: alarms.Error})
					return err
				})
			})
		}
	}
}

// BenchmarkAlarmList measures the reads of pages that people look at.
func BenchmarkAlarmList(b *testing.B) {
	const active, ended = 20_000, 180_000
	for _, kind := range []string{"sqlite", "postgres"} {
		db, bare := storetest.Bench(b, kind)
		for n := 0; n < active+ended; n += 2000 {
			require.NoError(b, storetest.RaiseAlarms(b.Context(), db.Alarms(), n, 2000))
		}
		_, err := bare.Exec(fmt.Sprintf("UPDATE alarm_occurrences SET active = FALSE, cleared_us = raised_us + 1000 WHERE code <= %d", ended))
		require.NoError(b, err)
		for _, q := range []struct {
			name  string
			query alarms.Query
		}{
			{"active", alarms.Query{Active: true, Suppressed: alarms.ExcludeSuppressed, Limit: 500, Count: true}},
			{"active-deep", alarms.Query{Active: true, Suppressed: alarms.ExcludeSuppressed, Severities: alarms.SetOf(alarms.Error, alarms.Critical), Offset: 9000, Limit: 500, Count: true}},
			{"active-stale", alarms.Query{Active: true, End: storetest.When.Add(time.Hour), Limit: 500, Count: true}},
			{"history", alarms.Query{Start: storetest.When, End: storetest.When.Add(time.Hour), Limit: 500, Count: true}},
			{"history-severity", alarms.Query{Start: storetest.When, End: storetest.When.Add(time.Hour), Severities: alarms.SetOf(alarms.Error), Offset: 1000, Limit: 100, Count: true}},
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
				_, err := db.Alarms().HourlyCounts(b.Context(), storetest.When, storetest.When.Add(24*time.Hour))
				require.NoError(b, err)
			}
		})
		require.NoError(b, db.Close())
	}
}
