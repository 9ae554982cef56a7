package tagstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

// Writes that were stored without their driver are found by it.
func TestWritesFromBefore(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			db := storetest.Before(t, fresh, 2, 1)
			names := []string{"plc.valve", "plc.line.valve", "größe.a", "valve", ".valve", "...", "a%b.c_d", "plc."}
			require.NoError(t, db.Update(t.Context(), "old", func(ctx context.Context, tx *storage.Tx) error {
				for i, name := range names {
					_, err := tx.Exec(ctx, `INSERT INTO tag_writes (id, tag, value_type, value, written_by, state, error, confirm, queued_us)
						VALUES (?, ?, 'Int', ?, 'anna', 'Written', '', ?, ?)`, fmt.Sprint(i), name, []byte("1"), false, i)
					if err != nil {
						return err
					}
				}
				return nil
			}))
			require.NoError(t, db.Close())
			log := storetest.Must(fresh())(t, storage.Options{}).Writes()
			for driver, want := range map[string][]string{"plc": {"7", "1", "0"}, "größe": {"2"}, "a%b": {"6"}, "valve": nil} {
				page, err := log.List(t.Context(), tags.WriteQuery{WriteFilter: tags.WriteFilter{Driver: driver}, Limit: 10})
				require.NoError(t, err)
				var got []string
				for _, w := range page.Writes {
					got = append(got, w.ID)
				}
				require.Equal(t, want, got, driver)
			}
			page, err := log.List(t.Context(), tags.WriteQuery{Limit: 10, Count: true})
			require.NoError(t, err)
			require.Equal(t, len(names), page.Total)
		})
	}
}

// many fills a log: 20 drivers of 50 tags, 5 users; one write in a hundred has failed.
func many(t testing.TB, log tags.WriteLog, count int) {
	t.Helper()
	for first := 0; first < count; first += 10_000 {
		var list []tags.Write
		for i := first; i < min(first+10_000, count); i++ {
			w := tags.Write{ID: fmt.Sprintf("01900000-0000-7000-8000-%012x", i), Driver: fmt.Sprintf("line%d", i%20), Address: fmt.Sprintf("4%04d", i/20%50),
				Value: tags.FloatValue(float64(i)), By: fmt.Sprintf("user%d", i%7%5), State: tags.WriteConfirmed, Confirm: true, QueuedAt: at(i), CompletedAt: at(i + 1)}
			w.Tag = fmt.Sprintf("%s.device.setpoint%d", w.Driver, i/20%50)
			if i%100 == 0 {
				w.State, w.Error = tags.WriteFailed, "the device answered with an error"
			}
			list = append(list, w)
		}
		require.NoError(t, log.Put(t.Context(), list))
	}
}

func at(i int) time.Time { return storetest.When.Add(time.Duration(i) * time.Second) }

// selections are what lists of many writes are asked for, each with the condition of a bare SELECT.
func selections(count int) []struct {
	name   string
	filter tags.WriteFilter
	bare   string
} {
	return []struct {
		name   string
		filter tags.WriteFilter
		bare   string
	}{
		{"all", tags.WriteFilter{}, "1 = 1"},
		{"driver", tags.WriteFilter{Driver: "line3"}, "driver = 'line3'"},
		{"address", tags.WriteFilter{Driver: "line3", Address: "40007"}, "driver = 'line3' AND lower(address) = '40007'"},
		{"tag", tags.WriteFilter{Tag: "line3.device.setpoint7"}, "tag = 'line3.device.setpoint7'"},
		{"user", tags.WriteFilter{By: "user1"}, "written_by = 'user1'"},
		{"failed", tags.WriteFilter{States: []tags.WriteState{tags.WriteFailed, tags.WriteUnknown}}, "state IN ('Failed', 'Unknown')"},
		{"confirmed", tags.WriteFilter{States: []tags.WriteState{tags.WriteConfirmed}}, "state IN ('Confirmed')"},
		{"failed-of-user", tags.WriteFilter{By: "user1", States: []tags.WriteState{tags.WriteFailed}}, "written_by = 'user1' AND state = 'Failed'"},
		{"hour", tags.WriteFilter{Start: at(count - 7200), End: at(count - 3600)},
			fmt.Sprintf("queued_us >= %d AND queued_us < %d", at(count-7200).UnixMicro(), at(count-3600).UnixMicro())},
	}
}

func TestListOfManyWrites(t *testing.T) {
	const count = 100_000
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		db := fresh(t)
		many(t, db.Writes(), count)
		for _, s := range selections(count) {
			var want []string
			total := 0
			for i := count - 1; i >= 0; i-- {
				w := tags.Write{Driver: fmt.Sprintf("line%d", i%20), Address: fmt.Sprintf("4%04d", i/20%50), By: fmt.Sprintf("user%d", i%7%5), State: tags.WriteConfirmed, QueuedAt: at(i)}
				w.Tag = fmt.Sprintf("%s.device.setpoint%d", w.Driver, i/20%50)
				if i%100 == 0 {
					w.State = tags.WriteFailed
				}
				if !s.filter.Selects(w) {
					continue
				}
				if total++; total > 60 && len(want) < 30 {
					want = append(want, fmt.Sprintf("01900000-0000-7000-8000-%012x", i))
				}
			}
			page, err := db.Writes().List(t.Context(), tags.WriteQuery{WriteFilter: s.filter, Offset: 60, Limit: 30, Count: true})
			require.NoError(t, err)
			require.Equal(t, total, page.Total, s.name)
			var got []string
			for _, w := range page.Writes {
				got = append(got, w.ID)
			}
			require.Equal(t, want, got, s.name)
		}
	})
}

// BenchmarkList lists the first page of 50 writes, with the number of all, beside a bare SELECT of the same rows and a bare COUNT.
func BenchmarkList(b *testing.B) {
	for _, count := range []int{100_000, 1_000_000} {
		for _, kind := range storetest.Kinds {
			b.Run(fmt.Sprintf("%s/%d", kind, count), func(b *testing.B) {
				db, bare := storetest.Bench(b, kind)
				many(b, db.Writes(), count)
				if kind == "postgres" {
					_, err := bare.Exec("VACUUM ANALYZE tag_writes")
					require.NoError(b, err)
				}
				for _, s := range selections(count) {
					b.Run(s.name+"/list", func(b *testing.B) {
						for b.Loop() {
							page, err := db.Writes().List(b.Context(), tags.WriteQuery{WriteFilter: s.filter, Limit: 50, Count: true})
							require.NoError(b, err)
							require.Len(b, page.Writes, 50)
						}
					})
					b.Run(s.name+"/bare", func(b *testing.B) {
						for b.Loop() {
							require.Equal(b, 50, bareList(b, bare, s.bare))
						}
					})
				}
				b.Run("last-page/list", func(b *testing.B) {
					for b.Loop() {
						page, err := db.Writes().List(b.Context(), tags.WriteQuery{Offset: count - 50, Limit: 50, Count: true})
						require.NoError(b, err)
						require.Len(b, page.Writes, 50)
					}
				})
			})
		}
	}
}

// bareList reads a page and counts, and does nothing else.
func bareList(b *testing.B, bare *sql.DB, where string) (n int) {
	b.Helper()
	rows, err := bare.Query("SELECT id, tag, driver, address, value_type, value, written_by, state, error, confirm, queued_us, completed_us FROM tag_writes WHERE " +
		where + " ORDER BY queued_us DESC, id DESC LIMIT 50")
	require.NoError(b, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			id, tag, driver, address, kind, by, state, fault string
			value                                            []byte
			confirm                                          bool
			queued, completed                                int64
		)
		require.NoError(b, rows.Scan(&id, &tag, &driver, &address, &kind, &value, &by, &state, &fault, &confirm, &queued, &completed))
		n++
	}
	require.NoError(b, rows.Err())
	var total int
	require.NoError(b, bare.QueryRow("SELECT COUNT(*) FROM tag_writes WHERE "+where).Scan(&total))
	return n
}
