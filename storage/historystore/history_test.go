package historystore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

func sample(tag string, second int, v int64) history.Sample {
	return history.Sample{Tag: tag, Time: storetest.When.Add(time.Duration(second) * time.Second), Value: tags.IntValue(v), Quality: tags.Good}
}

// TestHistoryAgainstAModel appends at random places, with repeats, compacts and trims now and then,
// and compares with a map.
func TestHistoryAgainstAModel(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		now := storetest.When
		db := open(t, storage.Options{Now: func() time.Time { return now }}, historystore.Options{CompactAfter: -1})
		h := db.History()
		r := rand.New(rand.NewPCG(1, 2))
		model := map[string]map[int]int64{"a": {}, "b": {}, "c": {}}
		places := []int{0, 5000, 20_000} // runs that grow, and late ones in between
		for round := range 150 {
			var batch []history.Sample
			for range 1 + r.IntN(200) {
				tag := string(rune('a' + r.IntN(3)))
				at := r.IntN(30_000)
				if r.IntN(10) > 0 {
					p := r.IntN(len(places))
					places[p]++
					at = places[p] - r.IntN(3)
				}
				model[tag][at] = int64(round)
				batch = append(batch, sample(tag, at, int64(round)))
			}
			require.NoError(t, h.Append(t.Context(), batch))
			now = now.Add(time.Duration(r.IntN(3)) * time.Minute)
			switch r.IntN(8) {
			case 0:
				require.NoError(t, h.Compact(t.Context()))
			case 2, 3:
				require.NoError(t, h.CompactDue(t.Context()))
			case 1:
				before := r.IntN(3000)
				require.NoError(t, h.Trim(t.Context(), storetest.When.Add(time.Duration(before)*time.Second), 0))
				for _, of := range model {
					last := -1
					for at := range of {
						if at < before {
							last = max(last, at)
						}
					}
					for at := range of {
						if at < last {
							delete(of, at)
						}
					}
				}
			}
			if round%10 == 9 {
				for tag, of := range model {
					requireModel(t, h, tag, of)
				}
				requireTotal(t, db)
			}
		}
	})
}

func requireModel(t *testing.T, h *historystore.Store, tag string, of map[int]int64) {
	t.Helper()
	got := storetest.Samples(t, h, tag)
	count := len(got)
	require.Equal(t, len(of), count, tag)
	last := time.Time{}
	for _, s := range got {
		require.True(t, s.Time.After(last))
		last = s.Time
		want, ok := of[int(s.Time.Sub(storetest.When)/time.Second)]
		require.True(t, ok, "%s at %v was never stored", tag, s.Time)
		require.Equal(t, want, s.Value.Int())
	}
	samples, sum, wanted := int64(0), 0.0, 0.0
	for run, err := range h.Summaries(t.Context(), tag, storetest.When, storetest.When.AddDate(1, 0, 0), wholeYear) {
		require.NoError(t, err)
		samples += run.Samples
		sum += run.Good.Sum
	}
	for _, v := range of {
		wanted += float64(v)
	}
	require.EqualValues(t, len(of), samples, tag)
	require.InDelta(t, wanted, sum, 0.5, tag)
}

func wholeYear(t time.Time) time.Time { return t.AddDate(1, 0, 0) }

func TestSeveralEnginesShareAHistory(t *testing.T) {
	dsn := pgtest.DSN(t)
	engines := []*storetest.DB{storetest.OpenPostgres(t, dsn, storage.Options{}), storetest.OpenPostgres(t, dsn, storage.Options{})}
	var wg sync.WaitGroup
	for e, db := range engines {
		wg.Go(func() {
			for i := range 60 {
				var batch []history.Sample
				for j := range 50 {
					batch = append(batch, sample("shared", 2*(i*50+j)+e, int64(i)), sample(fmt.Sprintf("own%d.%d", e, j), i, 1))
				}
				if err := db.History().Append(t.Context(), batch); err != nil {
					t.Errorf("Append: %v", err)
				}
				if i%7 != 6 {
					continue
				}
				if err := db.History().Compact(t.Context()); err != nil {
					t.Errorf("Compact: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, db := range engines {
		require.Equal(t, 6000, storetest.Count(t, db.History(), "shared"))
		require.NoError(t, db.History().Compact(t.Context()))
	}
	require.Equal(t, 6000, storetest.Count(t, engines[0].History(), "shared"))
	stats, err := engines[0].History().Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 12_000, stats.ChunkSamples)
	require.Zero(t, stats.WaitingBatches)
}

func TestHistoryIsCompactedByItself(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactSamples: 2000})
		require.NoError(t, db.History().Append(t.Context(), storetest.NewPlant(10).Batch(3000)))
		require.Eventually(t, func() bool {
			stats, err := db.History().Stats(t.Context())
			return err == nil && stats.ChunkSamples == 3000 && stats.WaitingBatches == 0
		}, time.Minute, 5*time.Millisecond)
	})
}

func TestDamagedHistoryIsAnErrorAndTheRestGoesOn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		var log bytes.Buffer
		db := open(t, storage.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, historystore.Options{CompactAfter: -1})
		h := db.History()
		flip := func(table string) {
			t.Helper()
			db.ExecHistory(t, map[string]string{
				"sqlite":   "UPDATE " + table + " SET data = CAST(substr(data, 1, length(data) - 1) || x'7e' AS BLOB)",
				"postgres": "UPDATE " + table + " SET data = set_byte(data, length(data) - 1, 126)",
			}[db.Dialect()])
		}
		fails := func(tag string) {
			t.Helper()
			var failed error
			for _, err := range h.Range(t.Context(), tag, storetest.When, storetest.When.Add(time.Hour)) {
				failed = err
			}
			require.ErrorIs(t, failed, storage.ErrCorrupt)
		}
		require.NoError(t, h.Append(t.Context(), []history.Sample{sample("a", 1, 1)}))
		require.NoError(t, h.Compact(t.Context()))
		flip("history_chunk")
		fails("a")
		require.NoError(t, h.Append(t.Context(), []history.Sample{sample("a", 2, 2), sample("b", 1, 1)}))
		require.NoError(t, h.Compact(t.Context()), "one damaged chunk does not stop compaction")
		require.Len(t, storetest.Samples(t, h, "b"), 1)
		fails("a")

		require.NoError(t, h.Append(t.Context(), []history.Sample{sample("c", 1, 1)}))
		flip("history_waiting")
		fails("c")
		require.NoError(t, h.Compact(t.Context()))
		require.Contains(t, log.String(), "damaged")
		require.NoError(t, h.Trim(t.Context(), storetest.When.Add(time.Hour), 0))
		for tag, left := range map[string]int{"a": 1, "b": 1, "c": 0} {
			require.Len(t, storetest.Samples(t, h, tag), left, "what is old goes, damaged or not, but for the last sample of %s", tag)
		}
	})
}

func TestTrimGivesRoomBack(t *testing.T) {
	dir := t.TempDir()
	db := storetest.OpenSQLite(t, dir, storage.Options{})
	require.NoError(t, db.History().Append(t.Context(), storetest.NewPlant(5).Batch(400_000)))
	require.NoError(t, db.History().Compact(t.Context()))
	beside, err := sql.Open("sqlite", filepath.Join(dir, sqlite.HistoryFile))
	require.NoError(t, err)
	defer func() { require.NoError(t, beside.Close()) }()
	size := func() int64 {
		_, err := beside.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
		require.NoError(t, err)
		info, err := os.Stat(filepath.Join(dir, sqlite.HistoryFile))
		require.NoError(t, err)
		return info.Size()
	}
	before := size()
	require.NoError(t, db.History().Trim(t.Context(), time.Time{}, 500_000))
	require.Less(t, size(), before/2)
	stats, err := db.History().Stats(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, stats.ChunkBytes, int64(500_000))
	require.Greater(t, stats.ChunkBytes, int64(400_000))
}

// The last sample of each tag stays, unless these alone are too much.
func TestTrimBySizeKeepsTheLastSamplesAsLongAsTheyFit(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactAfter: -1})
		h := db.History()
		p := storetest.NewPlant(1000)
		require.NoError(t, h.Append(t.Context(), p.Batch(100_000)))
		require.NoError(t, h.Compact(t.Context()))
		last := storetest.Samples(t, h, p.Names[7])
		left := func() int { return queryInt(t, db, "SELECT COUNT(DISTINCT tag_id) FROM history_chunk") }
		require.NoError(t, h.Trim(t.Context(), time.Time{}, 120_000))
		require.Equal(t, 1000, left())
		require.Equal(t, last[len(last)-1:], storetest.Samples(t, h, p.Names[7]))
		requireTotal(t, db)
		require.NoError(t, h.Trim(t.Context(), time.Time{}, 40_000))
		require.Less(t, left(), 1000)
		require.NotZero(t, left())
		requireTotal(t, db)
	})
}

func TestUnfinishedWritesBecomeUnknown(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		start := storetest.When.Add(time.Hour)
		log := open(t, storage.Options{Now: func() time.Time { return start }}).Writes()
		old, done, own := storetest.OneWrite(1), storetest.OneWrite(2), storetest.OneWrite(3)
		old.QueuedAt, done.QueuedAt, own.QueuedAt = storetest.When, storetest.When, start
		done.State, done.CompletedAt = tags.WriteConfirmed, storetest.When
		require.NoError(t, log.Put(t.Context(), []tags.Write{old, done, own}))
		n, err := log.MarkUnfinished(t.Context(), start)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		got, err := log.Get(t.Context(), old.ID)
		require.NoError(t, err)
		require.Equal(t, tags.WriteUnknown, got.State)
		require.NotEmpty(t, got.Error)
		require.Equal(t, start, got.CompletedAt)
		for _, want := range []tags.Write{done, own} {
			got, err := log.Get(t.Context(), want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

func TestOldWritesAreTrimmed(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		var writes []tags.Write
		for i := range 6000 {
			w := storetest.OneWrite(i)
			w.State, w.QueuedAt = tags.WriteDone, storetest.When.Add(time.Duration(i)*time.Second)
			writes = append(writes, w)
		}
		writes[0].State = tags.WriteQueued
		require.NoError(t, db.Writes().Put(t.Context(), writes))
		require.NoError(t, db.Writes().Trim(t.Context(), writes[5500].QueuedAt))
		count := 0
		require.NoError(t, db.View(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
			return tx.Row(ctx, "SELECT COUNT(*) FROM tag_writes", nil, &count)
		}))
		require.Equal(t, 501, count, "the newest ones and the one without an outcome")
	})
}
