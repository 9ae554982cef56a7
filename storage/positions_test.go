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

// TestListsOfTablesFromBefore opens tables that were filled before their rows were counted, and tables that were
// counted wrongly: lists are exact before and after the first write.
func TestListsOfTablesFromBefore(t *testing.T) {
	const many = 5000
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			open := storetest.Must(fresh())
			db := storetest.Before(t, fresh, 12, 2)
			require.NoError(t, db.Update(t.Context(), "old", func(ctx context.Context, tx *storage.Tx) error {
				var conditions, occurrences, records [][]any
				for i := range int64(many) {
					conditions = append(conditions, []any{i + 1, fmt.Sprint("k", i), int64(0), "", i + 1})
					occurrences = append(occurrences, []any{i + 1, fmt.Sprint("id", i), i + 1, "s", "t", "m", i % 4, 1_000_000 * (i + 1), "", "", i%2 == 0, false, int64(0), ""})
					records = append(records, []any{fmt.Sprintf("%036d", i), fmt.Sprint("key", i), "a", 1_000_000 * (i + 1), i % 4, int64(1), "t", "", "", "", ""})
				}
				for _, table := range []struct {
					into string
					rows [][]any
				}{
					{"INSERT INTO alarm_conditions (code, alarm_key, withheld, shelved_by, last_seq) VALUES", conditions},
					{"INSERT INTO alarm_occurrences (seq, id, code, source, source_type, message, severity, raised_us, acknowledged_by, comment, active, latching, withheld, labels) VALUES", occurrences},
					{"INSERT INTO alert_sources (id, source, folded) VALUES", [][]any{{int64(1), "s", "s"}}},
					{"INSERT INTO alert_records (id, record_key, alarm, at_us, severity, source_id, source_type, title, description, labels, annotations) VALUES", records},
				} {
					if err := tx.Insert(ctx, table.into, table.rows, ""); err != nil {
						return err
					}
				}
				_, err := tx.Exec(ctx, "UPDATE alarm_counter SET seq = ?, code = ?", many, many)
				return err
			}))
			require.NoError(t, db.Close())
			db = open(t, storage.Options{})
			check := func(added int) {
				t.Helper()
				for _, offset := range []int{0, many / 4, many/2 + added - 1} {
					p, err := db.Alarms().Occurrences(t.Context(), alarms.Query{State: alarms.ListReturned, Offset: offset, Limit: 1, Count: true})
					require.NoError(t, err)
					require.Equal(t, many/2, p.Total)
					if offset < many/2 {
						require.EqualValues(t, many-2*offset, p.Occurrences[0].Seq)
					}
					p, err = db.Alarms().Occurrences(t.Context(), alarms.Query{Offset: offset, Limit: 1, Count: true})
					require.NoError(t, err)
					require.Equal(t, many+added, p.Total)
					records, total, err := db.AlertHistory().Records(t.Context(), history.Filter{}, many+added-1, 5)
					require.NoError(t, err)
					require.EqualValues(t, many+added, total)
					require.Len(t, records, 1)
					require.Equal(t, fmt.Sprintf("%036d", 0), records[0].ID)
				}
			}
			write := func(n int) {
				t.Helper()
				require.NoError(t, storetest.RaiseAlarms(t.Context(), db.Alarms(), n, 1))
				require.NoError(t, db.AlertHistory().ApplyRecords(t.Context(), history.Changes{Add: []alerting.Record{{ID: fmt.Sprintf("z%035d", n), Source: "s",
					Key: alerting.RecordKey{Alarm: "b", At: storetest.When.Add(time.Duration(n) * time.Second)}}}}))
			}
			check(0)
			write(1)
			check(1)
			write(2)
			check(2)
			for _, table := range []string{"alarm_blocks", "alert_blocks"} {
				var blocks int
				require.NoError(t, db.StatePool().QueryRow("SELECT COUNT(*) FROM "+table).Scan(&blocks))
				require.Greater(t, blocks, 2, table)
			}

			// An engine of an earlier version that still runs adds to the tables and counts nothing.
			require.NoError(t, db.Update(t.Context(), "old", func(ctx context.Context, tx *storage.Tx) error {
				for _, query := range []string{
					`INSERT INTO alarm_occurrences (seq, id, code, source, source_type, message, severity, raised_us, acknowledged_by, comment, active, latching, withheld, labels)
					SELECT 1000000 + seq, id || 'x', code, source, source_type, message, severity, raised_us + 1, acknowledged_by, comment, active, latching, withheld, labels
					FROM alarm_occurrences WHERE active AND seq < 7`,
					`INSERT INTO alert_records (id, record_key, alarm, at_us, severity, source_id, source_type, title, description, labels, annotations)
					SELECT 'y' || id, record_key || 'x', alarm, at_us + 1, severity, source_id, source_type, title, description, labels, annotations
					FROM alert_records WHERE at_us < 4000000`,
				} {
					if n, err := tx.Exec(ctx, query); err != nil || n != 3 {
						return fmt.Errorf("%d rows: %w", n, err)
					}
				}
				return nil
			}))
			require.NoError(t, db.Alarms().Trim(t.Context(), time.Unix(0, 0)))
			require.NoError(t, db.AlertHistory().TrimRecords(t.Context(), time.Unix(0, 0)))
			check(5)
		})
	}
}
