package historystore_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// wide gives one sample of each of so many tags.
func wide(count, second int) []history.Sample {
	batch := make([]history.Sample, count)
	for i := range batch {
		batch[i] = sample(fmt.Sprintf("wide%d", i), second, int64(second+i))
	}
	return batch
}

// A chunk is written once there are enough samples of its tag, and not anew for a few that follow.
func TestCompactionWritesEachSampleFewTimes(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		const count, seconds = 1200, 200
		db := open(t, storage.Options{Now: func() time.Time { return storetest.When }}, historystore.Options{CompactAfter: -1})
		h := db.History()
		writes := func() (n int64) {
			stats, err := db.History().Stats(t.Context())
			require.NoError(t, err)
			return stats.ChunkSamples
		}
		changed := 0
		for second := range seconds {
			require.NoError(t, h.Append(t.Context(), wide(count, second)))
			if second%5 == 4 {
				before := writes()
				require.NoError(t, h.CompactDue(t.Context()))
				if writes() != before {
					changed++
				}
			}
			if second == 98 {
				require.Zero(t, changed, "99 samples of a tag make no chunk")
				require.Equal(t, 99, storetest.Count(t, h, "wide700"))
			}
		}
		stats, err := db.History().Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, count*seconds, stats.ChunkSamples+stats.WaitingRows)
		require.GreaterOrEqual(t, stats.ChunkSamples, int64(count*100))
		require.LessOrEqual(t, changed, 2*3, "each of three groups of tags has its turn once or twice")
		for _, i := range []int{0, 511, 700, count - 1} {
			got := storetest.Samples(t, h, fmt.Sprintf("wide%d", i))
			require.Len(t, got, seconds)
			for second, s := range got {
				require.Equal(t, int64(second+i), s.Value.Int())
			}
		}
	})
}

// Tags that change seldom wait together until the oldest sample has waited long, while those beside them
// that change often go to chunks.
func TestSeldomSamplesWaitTogether(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		now := storetest.When
		db := open(t, storage.Options{Now: func() time.Time { return now }}, historystore.Options{CompactAfter: -1})
		h := db.History()
		require.NoError(t, h.Append(t.Context(), wide(400, 0)))
		stats := func() historystore.Stats {
			require.NoError(t, h.CompactDue(t.Context()))
			s, err := db.History().Stats(t.Context())
			require.NoError(t, err)
			return s
		}
		for second := range 300 {
			require.NoError(t, h.Append(t.Context(), []history.Sample{sample("often", second, int64(second)), sample(fmt.Sprintf("wide%d", second), second+1, 7)}))
		}
		s := stats()
		require.EqualValues(t, 300, s.ChunkSamples)
		require.EqualValues(t, 700, s.WaitingRows)
		require.EqualValues(t, 1, s.WaitingBatches)
		require.Equal(t, 2, storetest.Count(t, h, "wide17"))
		require.NoError(t, h.Append(t.Context(), []history.Sample{sample("wide17", 18, 8)}))
		now = now.Add(11 * time.Minute)
		require.NoError(t, h.Append(t.Context(), []history.Sample{sample("wide18", 100, 9)}))
		s = stats()
		require.Zero(t, s.WaitingRows)
		require.EqualValues(t, 1001, s.ChunkSamples, "one sample replaced another")
		require.EqualValues(t, 8, storetest.Samples(t, h, "wide17")[1].Value.Int(), "the later of two samples with one time counts")
		require.Equal(t, 3, storetest.Count(t, h, "wide18"))
	})
}

// What compaction leaves to be done later is no failed operation.
func TestCompactionReportsNoErrorWhenItStopsHalfWay(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		var mu sync.Mutex
		failed := map[string]error{}
		db := open(t, storage.Options{OnQuery: func(op string, _ time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[op] = err
			}
		}}, historystore.Options{CompactAfter: -1})
		mu.Lock()
		clear(failed) // a database without tables does not tell their version
		mu.Unlock()
		p := storetest.NewPlant(3)
		for range 6 {
			require.NoError(t, db.History().Append(t.Context(), p.Batch(100_000)))
		}
		require.NoError(t, db.History().Compact(t.Context()))
		require.Equal(t, 200_000, storetest.Count(t, db.History(), "line.tag1"))
		require.Empty(t, failed)
	})
}

// A batch of six samples as version 1 of the tables had it: 0, 1, 2 of tag 1 and 10, 11, 12 of tag 601.
const batchOfVersion1 = "f2cb4566020115d8041503808082e288d2a30680897a00000203020300020203808082e288d2a30680897a000002030203140202"

func TestHistoryOfAnEarlierVersionIsKept(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			db := storetest.Before(t, fresh, 14, 1)
			data, err := hex.DecodeString(batchOfVersion1)
			require.NoError(t, err)
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			db.ExecHistory(t, "INSERT INTO history_tag (id, name) VALUES (1, 'a'), (601, 'b')")
			for _, data := range [][]byte{data, []byte("damaged")} {
				db.ExecHistory(t, "INSERT INTO history_wal (min_us, max_us, count, data) VALUES (?, ?, 6, ?)",
					at.UnixMicro(), at.UnixMicro()+2_000_000, data)
			}
			require.NoError(t, db.Close())

			check := func(db *storetest.DB) {
				for i, tag := range []string{"a", "b"} {
					got := storetest.Samples(t, db.History(), tag)
					require.Len(t, got, 3)
					for n, s := range got {
						require.Equal(t, history.Sample{Tag: tag, Time: at.Add(time.Duration(n) * time.Second), Value: tags.IntValue(int64(10*i + n)), Quality: tags.Good}, s)
					}
				}
			}
			db = storetest.Must(fresh())(t, storage.Options{})
			check(db)
			require.NoError(t, db.History().Compact(t.Context()))
			check(db)
		})
	}
}

// The archive was made by the program when its history tables had version 1: samples 0 to 4 in chunks, 4 to
// 7 waiting.
func TestBackupOfAnEarlierHistoryIsRestored(t *testing.T) {
	archive, err := os.ReadFile("testdata/history-1.zip")
	require.NoError(t, err)
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactAfter: -1})
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{}))
		for range 2 {
			for i, tag := range []string{"a", "b"} {
				got := storetest.Samples(t, db.History(), tag)
				require.Len(t, got, 8)
				for n, s := range got {
					require.EqualValues(t, 10*i+n, s.Value.Int())
				}
			}
			require.NoError(t, db.History().Compact(t.Context()))
		}
	})
}
